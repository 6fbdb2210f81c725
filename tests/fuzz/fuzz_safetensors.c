/* Fuzz target: any bytes as a safetensors file; an accepted table is read to its last byte. */
#include <stddef.h>
#include <stdint.h>

#include "formats/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  wick_arena arena;
  wick_tensor_table table;
  wick_error error;
  uint64_t header, need;
  volatile uint64_t sum = 0;
  wick_arena_init(&arena, NULL);
  if (wick_safetensors_parse("fuzz", data, n, n, &arena, &table, &header, &need, &error) == WICK_OK)
    for (size_t i = 0; i < table.n; i++) {
      const wick_tensor_entry *entry = &table.entries[i];
      for (uint64_t k = 0; k < entry->n_bytes; k++) sum += data[entry->offset + k];
    }
  wick_arena_free(&arena);
  return 0;
}
