/* See sha256.h. Source: FIPS 180-4, sections 4.1.2, 5.1.1 and 6.2; names as there. */
#include "sha256.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

static uint32_t load_big_endian(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return __builtin_bswap32(word); /* WebAssembly is little-endian */
}

static void hash_block(uint32_t *state, const uint8_t *block) {
  uint32_t w[64];
  for (int t = 0; t < 16; t++) w[t] = load_big_endian(block + 4 * t);
  for (int t = 16; t < 64; t++) {
    uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int t = 0; t < 64; t++) {
    uint32_t sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
    uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + K[t] + w[t];
    uint32_t sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
    uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const uint32_t add[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; i++) state[i] += add[i];
}

void wick_sha256_begin(wick_sha256 *hash) {
  *hash = (wick_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                  0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void wick_sha256_update(wick_sha256 *hash, const uint8_t *bytes, size_t n) {
  size_t have = hash->n_bytes % 64;
  hash->n_bytes += n;
  if (have) {
    size_t take = n < 64 - have ? n : 64 - have;
    memcpy(hash->block + have, bytes, take);
    if (have + take < 64) return;
    hash_block(hash->state, hash->block);
    bytes += take;
    n -= take;
  }
  for (; n >= 64; bytes += 64, n -= 64) hash_block(hash->state, bytes);
  if (n) memcpy(hash->block, bytes, n);
}

void wick_sha256_end(wick_sha256 *hash, uint8_t *out) {
  uint64_t n_bits = 8 * hash->n_bytes;
  uint8_t padding[72] = {0x80};
  size_t n_padding = (119 - hash->n_bytes % 64) % 64 + 1;
  for (int i = 0; i < 8; i++) padding[n_padding + (size_t)i] = (uint8_t)(n_bits >> (56 - 8 * i));
  wick_sha256_update(hash, padding, n_padding + 8);
  for (int i = 0; i < 32; i++) out[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
