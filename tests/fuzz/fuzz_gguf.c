/* Fuzz target: any bytes as a GGUF header, whole and with only a part present; every value read. */
#include <stddef.h>
#include <stdint.h>

#include "formats/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_values(const wick_gguf *gguf) {
  volatile uint64_t sum = 0;
  for (size_t i = 0; i < gguf->n_values; i++) {
    const wick_gguf_value *value = &gguf->values[i];
    uint64_t at = 0;
    wick_string text;
    while (wick_gguf_next_string(value, &at, &text))
      for (size_t c = 0; c < text.n; c++) sum += (uint8_t)text.data[c];
    for (uint64_t k = 0; value->type != WICK_GGUF_STRING && k < value->n; k++)
      sum += (uint64_t)wick_gguf_int_at(value, k) + (wick_gguf_float_at(value, k) > 0);
  }
  (void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  for (int part = 0; part < 2; part++) {
    wick_arena arena;
    wick_gguf gguf;
    wick_error error;
    uint64_t need, n_present = part ? n / 2 : n;
    wick_arena_init(&arena, NULL);
    if (wick_gguf_parse("fuzz", data, n_present, n, &arena, &gguf, &need, &error) == WICK_OK)
      read_values(&gguf);
    wick_arena_free(&arena);
  }
  return 0;
}
