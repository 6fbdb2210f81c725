/* Seeded damage to GGUF and safetensors files, for tests: sizes, counts, offsets, padding, types,
 * strings, nesting, truncation. One seed, one damaged copy, on every machine. The generator knows
 * the sound file's structure (it walks the header by the specification, apart from wick's parser),
 * so that most seeds hit a field that matters.
 *
 *   mutation_fields fields = mutation_find_gguf(&file);     (or _safetensors)
 *   for (seed ...) { test_bytes damaged = mutation_make(&file, &fields, seed, what, sizeof what);
 *                    ...; free(damaged.data); } */
#ifndef WICK_TESTS_MUTATE_H
#define WICK_TESTS_MUTATE_H

#include "bytes.h"

typedef enum mutation_kind {
  MUTATION_NUMBER, /* little-endian, 1 to 8 bytes */
  MUTATION_TEXT,   /* bytes of a string; in JSON also the digits of a number */
  MUTATION_PADDING,
} mutation_kind;

typedef struct mutation_field {
  size_t at, n;
  mutation_kind kind;
} mutation_field;

enum { MUTATION_MAX_FIELDS = 4096 };

typedef struct mutation_fields {
  mutation_field fields[MUTATION_MAX_FIELDS]; /* the first ones of the header */
  size_t n, header_bytes;
} mutation_fields;

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t mutation_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static inline size_t mutation_below(uint64_t *state, size_t n) {
  return n ? (size_t)(mutation_random(state) % n) : 0;
}

static inline void mutation_add(mutation_fields *f, size_t at, size_t n, mutation_kind kind) {
  if (f->n < MUTATION_MAX_FIELDS && n) f->fields[f->n++] = (mutation_field){at, n, kind};
}

/* ---- the structure of a sound file ---- */

static inline uint64_t mutation_number(const test_bytes *file, size_t at, size_t n) {
  uint64_t value = 0;
  for (size_t i = 0; i < n && at + i < file->n; i++) value |= (uint64_t)file->data[at + i] << 8 * i;
  return value;
}

static inline size_t mutation_take(const test_bytes *file, mutation_fields *f, size_t *at,
                                   size_t n) {
  mutation_add(f, *at, n, MUTATION_NUMBER);
  size_t value = (size_t)mutation_number(file, *at, n);
  *at += n;
  return value;
}

static inline void mutation_take_string(const test_bytes *file, mutation_fields *f, size_t *at) {
  size_t n = mutation_take(file, f, at, 8);
  mutation_add(f, *at, n, MUTATION_TEXT);
  *at += n;
}

static inline void mutation_take_value(const test_bytes *file, mutation_fields *f, size_t *at) {
  static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  mutation_take_string(file, f, at);
  size_t type = mutation_take(file, f, at, 4), n = 1;
  if (type == 9) {
    type = mutation_take(file, f, at, 4);
    n = mutation_take(file, f, at, 8);
  }
  for (size_t i = 0; i < n; i++) {
    if (type == 8) {
      mutation_take_string(file, f, at);
    } else if (i < 8) {
      mutation_take(file, f, at, bytes[type]);
    } else {
      *at += bytes[type];
    }
  }
}

static inline void mutation_find_gguf(const test_bytes *file, mutation_fields *f) {
  size_t at = 0;
  *f = (mutation_fields){0};
  mutation_take(file, f, &at, 4); /* magic */
  mutation_take(file, f, &at, 4); /* version */
  size_t n_tensors = mutation_take(file, f, &at, 8), n_values = mutation_take(file, f, &at, 8);
  for (size_t i = 0; i < n_values; i++) mutation_take_value(file, f, &at);
  for (size_t i = 0; i < n_tensors; i++) {
    mutation_take_string(file, f, &at);
    size_t n_dims = mutation_take(file, f, &at, 4);
    for (size_t d = 0; d < n_dims; d++) mutation_take(file, f, &at, 8);
    mutation_take(file, f, &at, 4); /* type */
    mutation_take(file, f, &at, 8); /* offset */
  }
  f->header_bytes = (at + 31) / 32 * 32;
  mutation_add(f, at, f->header_bytes - at, MUTATION_PADDING);
}

/* The length and, in the JSON, every string and every run of digits. */
static inline void mutation_find_safetensors(const test_bytes *file, mutation_fields *f) {
  size_t at = 0;
  *f = (mutation_fields){0};
  f->header_bytes = 8 + mutation_take(file, f, &at, 8);
  while (at < f->header_bytes) {
    size_t begin = at++;
    uint8_t c = file->data[begin];
    if (c == '"') {
      while (at < f->header_bytes && file->data[at] != '"') at++;
      mutation_add(f, begin + 1, at++ - begin - 1, MUTATION_TEXT);
    } else if (c >= '0' && c <= '9') {
      while (at < f->header_bytes && file->data[at] >= '0' && file->data[at] <= '9') at++;
      mutation_add(f, begin, at - begin, MUTATION_TEXT);
    } else {
      mutation_add(f, begin, 1, MUTATION_TEXT);
    }
  }
}

/* ---- damage ---- */

/* data[at .. at+n) replaced by other bytes. */
static inline test_bytes mutation_replace(const test_bytes *file, size_t at, size_t n,
                                          const void *with, size_t n_with) {
  test_bytes out = {0};
  test_append(&out, file->data, at);
  test_append(&out, with, n_with);
  test_append(&out, file->data + at + n, file->n - at - n);
  return out;
}

static inline test_bytes mutation_number_damage(const test_bytes *file, const mutation_field *field,
                                                uint64_t *state, char *what, size_t n_what) {
  uint64_t old = mutation_number(file, field->at, field->n), value;
  const uint64_t values[] = {0,
                             1,
                             2,
                             5,
                             9, /* the type of arrays */
                             old - 1,
                             old + 1,
                             old + 7,
                             2 * old,
                             old << 8,
                             file->n,
                             file->n / 8,
                             UINT64_C(1) << 16,
                             UINT64_C(1) << 31,
                             UINT64_C(1) << 32,
                             (UINT64_C(1) << 61) + 1,
                             UINT64_C(1) << 63,
                             UINT64_MAX - 31,
                             UINT64_MAX,
                             mutation_random(state)};
  value = values[mutation_below(state, sizeof values / sizeof *values)];
  uint8_t bytes[8];
  for (size_t i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> 8 * i);
  snprintf(what, n_what, "number at %zu: %llu", field->at, (unsigned long long)value);
  return mutation_replace(file, field->at, field->n, bytes, field->n);
}

static inline test_bytes mutation_text_damage(const test_bytes *file, const mutation_field *field,
                                              uint64_t *state, char *what, size_t n_what) {
  static const char *const texts[] = {"",
                                      "0",
                                      "-1",
                                      "1e30",
                                      "18446744073709551615",
                                      "9007199254740993",
                                      "[[[[[[",
                                      "\x1b[2J",
                                      "\n",
                                      "\xff\xfe",
                                      "\\u0000",
                                      "null",
                                      "{",
                                      "}",
                                      "]",
                                      ",",
                                      "\"",
                                      "I64",
                                      "99999",
                                      "1.5",
                                      "general.alignment",
                                      "split.count",
                                      "[0,0,0,0,0,0]",
                                      "\\"};
  size_t which = mutation_below(state, sizeof texts / sizeof *texts + 1);
  if (which < sizeof texts / sizeof *texts) {
    snprintf(what, n_what, "text at %zu: number %zu of the list", field->at, which);
    return mutation_replace(file, field->at, field->n, texts[which], strlen(texts[which]));
  }
  snprintf(what, n_what, "text at %zu: 3000 opening brackets", field->at);
  char brackets[3000];
  memset(brackets, '[', sizeof brackets);
  return mutation_replace(file, field->at, field->n, brackets, sizeof brackets);
}

/* Damage that does not look at a field: cuts, lost, repeated and flipped bytes. */
static inline test_bytes mutation_blind_damage(const test_bytes *file, const mutation_fields *f,
                                               uint64_t *state, char *what, size_t n_what) {
  size_t at = mutation_below(state, f->header_bytes), room = file->n - at;
  size_t n = 1 + mutation_below(state, room < 40 ? room : 40);
  test_bytes out;
  switch (mutation_below(state, 5)) {
  case 0:
    snprintf(what, n_what, "cut at %zu", at);
    return mutation_replace(file, at, file->n - at, NULL, 0);
  case 1:
    snprintf(what, n_what, "%zu bytes lost at %zu", n, at);
    return mutation_replace(file, at, n, NULL, 0);
  case 2:
    snprintf(what, n_what, "%zu bytes twice at %zu", n, at);
    return mutation_replace(file, at, 0, file->data + at, n);
  case 3:
    at = mutation_below(state, file->n);
    snprintf(what, n_what, "data cut at %zu", at);
    return mutation_replace(file, at, file->n - at, NULL, 0);
  default:
    out = mutation_replace(file, 0, 0, NULL, 0);
    snprintf(what, n_what, "bit flipped in byte %zu", at);
    out.data[at] ^= (uint8_t)(1u << mutation_below(state, 8));
    return out;
  }
}

/* A damaged copy, owned by the caller; what says what was done. */
static inline test_bytes mutation_make(const test_bytes *file, const mutation_fields *f,
                                       uint64_t seed, char *what, size_t n_what) {
  uint64_t state = seed;
  size_t choice = mutation_below(&state, 10);
  if (choice < 3) return mutation_blind_damage(file, f, &state, what, n_what);
  const mutation_field *field = &f->fields[mutation_below(&state, f->n)];
  if (field->kind == MUTATION_NUMBER) {
    return mutation_number_damage(file, field, &state, what, n_what);
  } else if (field->kind == MUTATION_TEXT) {
    test_bytes out = mutation_text_damage(file, field, &state, what, n_what);
    /* half of the time mend a safetensors length, so that the damage behind it is reached */
    if (file->data[8] == '{' && choice % 2) {
      uint64_t n = mutation_number(file, 0, 8) + out.n - file->n;
      for (size_t i = 0; i < 8; i++) out.data[i] = (uint8_t)(n >> 8 * i);
    }
    return out;
  }
  size_t n = mutation_below(&state, field->n);
  snprintf(what, n_what, "padding of %zu bytes instead of %zu", n, field->n);
  return mutation_replace(file, field->at + n, field->n - n, NULL, 0);
}

#endif
