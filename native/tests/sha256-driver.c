/* Reads numbers of bytes, one on a line, and says for each the SHA-256 of so many bytes of a pattern, taken in uneven pieces: as the processor
   does it best, then as any can. */
#include "../sha256.c"

#include <stdio.h>
#include <stdlib.h>

static void say(const uint32_t state[8]) {
  for (int at = 0; at < 8; at += 1) printf("%08x", state[at]);
}

int main(void) {
  unsigned long length;
  while (scanf("%lu", &length) == 1) {
    uint8_t *bytes = malloc(length + 1), digest[SHA256_BYTES];
    uint32_t any[8], best[8];
    if (!bytes) return 1;
    for (size_t at = 0; at < length; at += 1) bytes[at] = (uint8_t)(at * 31 + at / 251);
    struct sha256 hash;
    sha256_begin(&hash);
    memcpy(any, hash.state, sizeof any);
    memcpy(best, hash.state, sizeof best);
    for (size_t at = 0, piece = 1; at < length; at += piece, piece = piece * 3 % 257 + 1) {
      if (piece > length - at) piece = length - at;
      sha256_add(&hash, bytes + at, piece);
    }
    sha256_end(&hash, digest);
    for (int at = 0; at < SHA256_BYTES; at += 1) printf("%02x", digest[at]);
    take_blocks_anywhere(any, bytes, length / BLOCK);
    take_blocks(best, bytes, length / BLOCK);
    printf(" ");
    say(any);
    printf(" ");
    say(best);
    printf("\n");
    free(bytes);
  }
  return 0;
}
