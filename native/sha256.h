/* SHA-256 (FIPS 180-4), piece by piece. */
#ifndef HOLDFAST_SHA256_H
#define HOLDFAST_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

struct sha256 {
  uint32_t state[8];
  uint64_t length;
  uint8_t block[64];
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t length);
/* Of all that was added so far; more may be added behind it. */
void sha256_end(const struct sha256 *hash, uint8_t digest[SHA256_BYTES]);

#endif
