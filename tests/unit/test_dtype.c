/* Data types against the gguf package's reference (fixtures/dtype.bin, made by
 * tools/fixtures/make_dtype_fixtures.py), and the 16-bit floats against their definition for every
 * bit pattern and every rounding boundary. Chapters 2, 18, 19. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "tap.h"
#include "tensor/dtype.h"

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The definition: (-1)^sign * 2^(exponent - 15 - 10) * (1024 + mantissa), in exact arithmetic. */
static double half_by_definition(unsigned half) {
  int exponent = half >> 10 & 31, mantissa = half & 1023;
  double magnitude = exponent == 0    ? ldexp(mantissa, -24)
                     : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                      : ldexp(1024 + mantissa, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

static double bfloat_by_definition(unsigned half) {
  int exponent = half >> 7 & 255, mantissa = half & 127;
  double magnitude = exponent == 0     ? ldexp(mantissa, -133)
                     : exponent == 255 ? (mantissa ? NAN : INFINITY)
                                       : ldexp(128 + mantissa, exponent - 134);
  return half & 0x8000 ? -magnitude : magnitude;
}

typedef struct format {
  const char *name;
  double (*definition)(unsigned);
  float (*to_f32)(uint16_t);
  uint16_t (*from_f32)(float);
  unsigned infinity;
} format;

static void check_format(tap *t, const format *f) {
  char name[100];
  int n_wrong = 0, n_round_trips = 0;
  for (unsigned half = 0; half < 65536; half++) {
    double expected = f->definition(half);
    float found = f->to_f32((uint16_t)half);
    bool equal = isnan(expected)
                     ? isnan(found)
                     : (double)found == expected && !signbit(found) == !signbit(expected);
    if (!equal) n_wrong++;
    uint16_t back = f->from_f32(found);
    if (isnan(expected) ? isnan(f->to_f32(back)) : back == half) n_round_trips++;
  }
  snprintf(name, sizeof name, "%s: all 65536 patterns have their value", f->name);
  CHECK(t, n_wrong == 0, name);
  snprintf(name, sizeof name, "%s: all 65536 patterns survive a round trip", f->name);
  CHECK(t, n_round_trips == 65536, name);

  /* Between neighbours a and b: below the middle gives a, above gives b, the middle the even one.
   */
  int n_misrounded = 0;
  for (unsigned a = 0; a < f->infinity; a++) {
    double low = f->definition(a);
    double high = a + 1 == f->infinity ? 2 * low - f->definition(a - 1) : f->definition(a + 1);
    float middle = (float)((low + high) / 2);         /* exact: one bit more than the format has */
    if ((double)middle != (low + high) / 2) continue; /* bfloat's last step leaves float32 */
    unsigned even = a % 2 ? a + 1 : a;
    for (unsigned sign = 0; sign <= 0x8000; sign += 0x8000) {
      float s = sign ? -1.0f : 1.0f;
      if (f->from_f32(s * middle) != (even | sign)) n_misrounded++;
      if (f->from_f32(s * nextafterf(middle, 0)) != (a | sign)) n_misrounded++;
      if (f->from_f32(s * nextafterf(middle, INFINITY)) != ((a + 1) | sign)) n_misrounded++;
    }
  }
  snprintf(name, sizeof name, "%s: every boundary rounds to nearest, ties to even", f->name);
  CHECK(t, n_misrounded == 0, name);
  snprintf(name, sizeof name, "%s: the largest float32 becomes infinity", f->name);
  CHECK(t, f->from_f32(from_bits(0x7f7fffff)) == f->infinity, name);
  snprintf(name, sizeof name, "%s: signalling NaNs with only low payload bits stay NaN", f->name);
  CHECK(t, isnan(f->to_f32(f->from_f32(from_bits(0x7f800001)))), name);
}

typedef struct record {
  uint32_t direction, dtype, n_values, n_bytes;
} record;

/* Reads into a buffer that starts at an odd address: rows may lie anywhere. */
static int check_record(tap *t, const record *r, const uint8_t *bytes, const float *values) {
  char name[100];
  const wick_dtype_info *info = wick_dtype_get_info(r->dtype);
  uint64_t row_bytes = 0;
  int sized = info && wick_dtype_row_bytes((wick_dtype)r->dtype, r->n_values, &row_bytes) &&
              row_bytes == r->n_bytes;
  snprintf(name, sizeof name, "%s: %u weights take %u bytes", info ? info->name : "?", r->n_values,
           r->n_bytes);
  CHECK(t, sized, name);
  if (!sized) return 1;
  if (r->direction == 0) {
    float *found = malloc(r->n_values * sizeof *found);
    wick_row_to_f32((wick_dtype)r->dtype, bytes, r->n_values, found);
    uint32_t n_equal = 0;
    for (uint32_t i = 0; i < r->n_values; i++)
      if (bits_of(found[i]) == bits_of(values[i]) || (found[i] == 0 && values[i] == 0)) n_equal++;
    snprintf(name, sizeof name, "%s: dequantized as the reference, bit for bit", info->name);
    CHECK(t, n_equal == r->n_values, name);
    free(found);
  } else {
    uint8_t *found = malloc(r->n_bytes);
    int written = wick_row_from_f32((wick_dtype)r->dtype, values, r->n_values, found);
    snprintf(name, sizeof name, "%s: quantized as the reference, byte for byte", info->name);
    CHECK(t, written && memcmp(found, bytes, r->n_bytes) == 0, name);
    free(found);
  }
  return 0;
}

static void check_fixture(tap *t) {
  FILE *file = fopen("tests/unit/fixtures/dtype.bin", "rb");
  CHECK(t, file != NULL, "the fixture opens");
  if (!file) return;
  record r;
  int n_records = 0;
  while (fread(&r, sizeof r, 1, file) == 1) {
    uint8_t *buffer = malloc((size_t)r.n_bytes + 1);
    float *values = malloc(r.n_values * sizeof *values);
    int whole = fread(buffer + 1, 1, r.n_bytes, file) == r.n_bytes &&
                fread(values, sizeof *values, r.n_values, file) == r.n_values;
    if (whole) check_record(t, &r, buffer + 1, values);
    n_records += whole;
    free(buffer);
    free(values);
  }
  fclose(file);
  CHECK(t, n_records == 11 + 6, "the fixture has 11 types read and 6 written");
}

static void check_edges(tap *t) {
  uint64_t bytes;
  CHECK(t, !wick_dtype_row_bytes(WICK_DTYPE_Q4_1, 33, &bytes), "a broken block is refused");
  CHECK(t, !wick_dtype_row_bytes((wick_dtype)4, 32, &bytes), "a removed type is refused");
  CHECK(t, !wick_dtype_row_bytes(WICK_DTYPE_F32, UINT64_MAX / 2, &bytes), "overflow is refused");
  CHECK(t, wick_dtype_get_info(16) == NULL && wick_dtype_get_info(UINT32_MAX) == NULL,
        "types that wick does not read have no layout");
  CHECK(t, strcmp(wick_dtype_name(17), "IQ2_XS") == 0, "... but their name is known");
  float values[32] = {1, -INFINITY, INFINITY, NAN};
  uint8_t block[34];
  CHECK(t,
        wick_row_from_f32(WICK_DTYPE_Q8_0, values, 32, block) &&
            wick_row_from_f32(WICK_DTYPE_Q4_0, values, 32, block) &&
            wick_row_from_f32(WICK_DTYPE_Q4_1, values, 32, block),
        "infinities and NaN quantize without undefined behaviour");
  CHECK(t, !wick_row_from_f32(WICK_DTYPE_Q6_K, values, 32, block),
        "types that wick does not write are refused");
}

int main(void) {
  tap t = {0};
  format half = {"f16", half_by_definition, wick_f16_to_f32, wick_f32_to_f16, 0x7c00};
  format bfloat = {"bf16", bfloat_by_definition, wick_bf16_to_f32, wick_f32_to_bf16, 0x7f80};
  check_format(&t, &half);
  check_format(&t, &bfloat);
  check_fixture(&t);
  check_edges(&t);
  return tap_done(&t);
}
