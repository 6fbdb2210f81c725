/* SHA-256 of bytes that arrive in pieces: browsers only hash what is whole, and a model should
 * never be whole outside of the engine's memory. */
#ifndef WICK_WEB_SHA256_H
#define WICK_WEB_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct wick_sha256 {
  uint32_t state[8];
  uint64_t n_bytes;  /* hashed or waiting in block */
  uint8_t block[64]; /* the last n_bytes % 64 of them */
} wick_sha256;

void wick_sha256_begin(wick_sha256 *hash);
void wick_sha256_update(wick_sha256 *hash, const uint8_t *bytes, size_t n);
/* out: 32 bytes. Nothing but begin may follow. */
void wick_sha256_end(wick_sha256 *hash, uint8_t *out);

#endif
