#include "sha256.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK = 64 };

static const uint32_t constants[64] __attribute__((aligned(16))) = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
  0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
  0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
  0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
  0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
  0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned by) {
  return word >> by | word << (32 - by);
}

static uint32_t read_big(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

static void write_big(uint8_t *bytes, uint32_t word) {
  for (int at = 0; at < 4; at += 1) bytes[at] = (uint8_t)(word >> (24 - 8 * at));
}

static void take_block(uint32_t state[8], const uint8_t *bytes) {
  uint32_t words[64];
  for (int at = 0; at < 16; at += 1) words[at] = read_big(bytes + 4 * at);
  for (int at = 16; at < 64; at += 1) {
    uint32_t near = words[at - 2], far = words[at - 15];
    words[at] = words[at - 16] + (rotate(far, 7) ^ rotate(far, 18) ^ far >> 3) + words[at - 7] + (rotate(near, 17) ^ rotate(near, 19) ^ near >> 10);
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
  for (int at = 0; at < 64; at += 1) {
    uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + constants[at] + words[at];
    uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

static void take_blocks_anywhere(uint32_t state[8], const uint8_t *bytes, size_t count) {
  for (; count > 0; count -= 1, bytes += BLOCK) take_block(state, bytes);
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

enum { SSSE3 = 1 << 9, SSE41 = 1 << 19, SHA = 1 << 29 };

/* With the instructions that processors have for it. Four rounds at a time: the state is kept as ABEF and CDGH. */
__attribute__((target("sha,sse4.1,ssse3"))) static void take_blocks_sha(uint32_t state[8], const uint8_t *bytes, size_t count) {
  const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xb1);
  __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1b);
  __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
  for (; count > 0; count -= 1, bytes += BLOCK) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i words[4];
    for (int at = 0; at < 4; at += 1) words[at] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * at)), order);
    for (int round = 0; round < 16; round += 1) {
      __m128i now = words[round & 3];
      if (round >= 4) {
        /* W[t-16..] and W[t-15..], W[t-7..], W[t-2..]. */
        const __m128i last = words[(round + 3) & 3];
        now = _mm_sha256msg1_epu32(now, words[(round + 1) & 3]);
        now = _mm_add_epi32(now, _mm_alignr_epi8(last, words[(round + 2) & 3], 4));
        now = _mm_sha256msg2_epu32(now, last);
        words[round & 3] = now;
      }
      const __m128i sum = _mm_add_epi32(now, _mm_load_si128((const __m128i *)(const void *)(constants + 4 * round)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  low = _mm_shuffle_epi32(abef, 0x1b);
  high = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(low, high, 0xf0));
  _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

static bool has_sha(void) {
  static int known = -1;
  unsigned a, b, c, d;
  if (known < 0) {
    known = __get_cpuid(1, &a, &b, &c, &d) && (c & SSSE3) && (c & SSE41) && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & SHA);
  }
  return known > 0;
}

static void take_blocks(uint32_t state[8], const uint8_t *bytes, size_t count) {
  if (has_sha()) take_blocks_sha(state, bytes, count);
  else take_blocks_anywhere(state, bytes, count);
}

#else

static void take_blocks(uint32_t state[8], const uint8_t *bytes, size_t count) {
  take_blocks_anywhere(state, bytes, count);
}

#endif

void sha256_begin(struct sha256 *hash) {
  static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, first, sizeof first);
  hash->length = 0;
}

void sha256_add(struct sha256 *hash, const void *added, size_t length) {
  const uint8_t *bytes = added;
  size_t held = hash->length % BLOCK;
  if (length == 0) return;
  hash->length += length;
  if (held > 0) {
    size_t more = BLOCK - held < length ? BLOCK - held : length;
    memcpy(hash->block + held, bytes, more);
    if (held + more < BLOCK) return;
    take_blocks(hash->state, hash->block, 1);
    bytes += more;
    length -= more;
  }
  take_blocks(hash->state, bytes, length / BLOCK);
  if (length % BLOCK) memcpy(hash->block, bytes + length / BLOCK * BLOCK, length % BLOCK);
}

void sha256_end(const struct sha256 *hash, uint8_t digest[SHA256_BYTES]) {
  struct sha256 last = *hash;
  size_t held = last.length % BLOCK;
  last.block[held++] = 0x80;
  if (held > BLOCK - 8) {
    memset(last.block + held, 0, BLOCK - held);
    take_blocks(last.state, last.block, 1);
    held = 0;
  }
  memset(last.block + held, 0, BLOCK - 8 - held);
  write_big(last.block + BLOCK - 8, (uint32_t)(last.length >> 29));
  write_big(last.block + BLOCK - 4, (uint32_t)(last.length << 3));
  take_blocks(last.state, last.block, 1);
  for (int at = 0; at < 8; at += 1) write_big(digest + 4 * at, last.state[at]);
}
