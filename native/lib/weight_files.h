/* Which files of a model folder hold its weights. */
#ifndef WICK_NATIVE_WEIGHT_FILES_H
#define WICK_NATIVE_WEIGHT_FILES_H

#include "path.h"

typedef struct wick_weight_files { /* names within the folder */
  char **items;                    /* owned, as each of them is */
  size_t n;
} wick_weight_files;

/* Fill an empty list, sorted: the files that the folder's index names, else model.safetensors, else
 * every *.safetensors. At least one; free the list either way. */
wick_status wick_weight_files_list(const char *folder, wick_weight_files *list, wick_error *error);
/* Fill an empty list with a .gguf file, or, where its name is one part's of several
 * ("model-00001-of-00003.gguf"), with all of them in order. folder: for messages. */
wick_status wick_weight_files_parts(const char *folder, const char *name, wick_weight_files *list,
                                    wick_error *error);
/* Whether a name ends like one of several: "-00001-of-00003" and then ending. *n: the last number.
 */
bool wick_weight_files_is_part(const char *name, const char *ending, int *n);
/* Add one name of n bytes, unless it is there. folder: for messages. */
wick_status wick_weight_files_add(wick_weight_files *list, const char *folder, const char *name,
                                  size_t n, wick_error *error);
void wick_weight_files_free(wick_weight_files *list);

#endif
