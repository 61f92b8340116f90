/* A worked example of a codec in C: runs of equal bytes, each as its length (1 to 255) and the byte.
 *
 *   cc -O2 -shared -fPIC -o libruns.so runs.c
 */
#include <stdio.h>

#include "logsegment_codec.h"

static int64_t decompress(void *context, const uint8_t *from, size_t from_len, uint8_t *to, size_t to_len, char *fault, size_t fault_len) {
  size_t at = 0;
  (void)context;
  if (from_len % 2 != 0) {
    snprintf(fault, fault_len, "%zu bytes are no pairs of length and byte", from_len);
    return LOGSEGMENT_FAILED;
  }
  for (size_t i = 0; i < from_len; i += 2) {
    if (from[i] > to_len - at) return LOGSEGMENT_TOO_SMALL;
    for (uint8_t run = 0; run < from[i]; run++) to[at++] = from[i + 1];
  }
  return (int64_t)at;
}

static int64_t compressed_len(void *context, size_t len) {
  (void)context;
  return (int64_t)len * 2;
}

static int64_t compress(void *context, const uint8_t *from, size_t from_len, int32_t level, uint8_t *to, size_t to_len, char *fault,
                    size_t fault_len) {
  size_t at = 0;
  (void)context;
  if (level != LOGSEGMENT_NO_LEVEL) {
    snprintf(fault, fault_len, "there are no levels");
    return LOGSEGMENT_FAILED;
  }
  for (size_t i = 0; i < from_len;) {
    size_t run = 1;
    while (run < 255 && i + run < from_len && from[i + run] == from[i]) run++;
    if (to_len - at < 2) return LOGSEGMENT_TOO_SMALL;
    to[at++] = (uint8_t)run;
    to[at++] = from[i];
    i += run;
  }
  return (int64_t)at;
}

const logsegment_codec runs_codec = {LOGSEGMENT_CODEC_VERSION, NULL, NULL, decompress, compressed_len, compress};
