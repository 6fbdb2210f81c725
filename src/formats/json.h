/* JSON by cJSON, with what untrusted files need: a length, a depth cap, one-line errors. Parse from
 * one thread at a time (cJSON keeps a global error pointer). */
#ifndef WICK_FORMATS_JSON_H
#define WICK_FORMATS_JSON_H

#include <cJSON.h>

#include "core/status.h"

/* data need not be terminated. The caller frees *out by cJSON_Delete. Trailing bytes after the
 * value (other than white space) are an error. */
wick_status wick_json_parse(const char *name, const char *data, size_t n_bytes, cJSON **out,
                            wick_error *error);

/* A whole number from 0 to 2^53 - 1 (beyond it doubles skip some); false for anything else. */
bool wick_json_value_u64(const cJSON *value, uint64_t *out);

/* object[key] as a whole number (number, bool, string); false when missing or of another type. null
 * counts as missing. */
bool wick_json_u64(const cJSON *object, const char *key, uint64_t *out);
bool wick_json_f64(const cJSON *object, const char *key, double *out);
bool wick_json_bool(const cJSON *object, const char *key, bool *out);
bool wick_json_string(const cJSON *object, const char *key, wick_string *out);

#endif
