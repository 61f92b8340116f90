/* What a codec in C can do wrong without writing where it must not: the compressed bytes say which. */
#include <string.h>
#include <unistd.h>

#include "../../examples/native_codec/logsegment_codec.h"

/* How a function and a thread of Python wait for each other. */
volatile int is_called = 0, is_seen = 0;

static int64_t decompressed_len(void *context, const uint8_t *from, size_t from_len) {
  (void)context;
  switch (from_len ? from[0] : 0) {
    case 'c': return INT64_MAX;
    case '0': return 0;
    case '1': return 1;
    case '-': return INT64_MIN;
    default: return LOGSEGMENT_TOO_SMALL;
  }
}

static int64_t decompress(void *context, const uint8_t *from, size_t from_len, uint8_t *to, size_t to_len, char *fault, size_t fault_len) {
  (void)context;
  if (from_len == 0) return LOGSEGMENT_FAILED;
  switch (from[0]) {
    /* Whatever the length that was told before: what stands behind the first byte, when there is room for it. */
    case '0': case '1': case '-': case '?':
      if (to_len < from_len - 1) return LOGSEGMENT_TOO_SMALL;
      memcpy(to, from + 1, from_len - 1);
      return (int64_t)from_len - 1;
    case 'l': return (int64_t)to_len + 1;
    case 's': case 'c': return LOGSEGMENT_TOO_SMALL;
    case 't': memset(fault, 'x', fault_len); return LOGSEGMENT_FAILED;
    case 'n': return -7;
    case 'g': memset(to, 0xff, to_len); return (int64_t)to_len;
    case 'w':
      is_called = 1;
      for (int tries = 0; tries < 60000 && !is_seen; tries++) usleep(1000);
      return is_seen ? 0 : LOGSEGMENT_FAILED;
    default: return 0;
  }
}

static int64_t compressed_len(void *context, size_t len) {
  return context ? INT64_MAX : (int64_t)len;
}

static int64_t compress(void *context, const uint8_t *from, size_t from_len, int32_t level, uint8_t *to, size_t to_len, char *fault,
                    size_t fault_len) {
  (void)context, (void)from, (void)from_len, (void)level, (void)to, (void)fault, (void)fault_len;
  return (int64_t)to_len + 1;
}

const logsegment_codec faults_codec = {LOGSEGMENT_CODEC_VERSION, NULL, decompressed_len, decompress, compressed_len, compress};
const logsegment_codec boundless_codec = {LOGSEGMENT_CODEC_VERSION, (void *)1, decompressed_len, decompress, compressed_len, compress};
const logsegment_codec later_codec = {2, NULL, decompressed_len, decompress, compressed_len, compress};
const logsegment_codec partial_codec = {LOGSEGMENT_CODEC_VERSION, NULL, NULL, decompress, NULL, compress};
