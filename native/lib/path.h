/* Paths: joining them, and asking whether there is something. */
#ifndef WICK_NATIVE_PATH_H
#define WICK_NATIVE_PATH_H

#include "core/status.h"

enum { WICK_PATH_BYTES = 4096 };

/* out = folder/name, or name alone where folder is "". WICK_ERROR_ARGUMENT when it does not fit. */
wick_status wick_path_join(char out[WICK_PATH_BYTES], const char *folder, const char *name,
                           wick_error *error);
/* out = the folder of a file's path: "" where the path has none. */
wick_status wick_path_folder(char out[WICK_PATH_BYTES], const char *path, wick_error *error);
bool wick_path_exists(const char *path);

#endif
