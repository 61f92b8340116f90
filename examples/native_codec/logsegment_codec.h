/* A codec of C functions for logsegment: version 1 of the table behind a capsule called "logsegment.codec".
 *
 * Functions are called without Python's interpreter, from any thread and from several at a time. They read `from`, write `to`, and keep
 * neither. Results are lengths in bytes, or one of the negative numbers below.
 */
#ifndef LOGSEGMENT_CODEC_H
#define LOGSEGMENT_CODEC_H

#include <stddef.h>
#include <stdint.h>

#define LOGSEGMENT_CODEC_VERSION 1
/* `to` is too small (it is made larger, up to the limits of the caller), or a length is not known. */
#define LOGSEGMENT_TOO_SMALL (-1)
/* Anything else is wrong; `fault` may say what, as a text that ends in 0. */
#define LOGSEGMENT_FAILED (-2)
/* The level when the caller gave none. */
#define LOGSEGMENT_NO_LEVEL INT32_MIN

typedef struct logsegment_codec {
  uint32_t version;
  void *context;
  /* Returns the most bytes that a stream decompresses to, as the stream says. May be NULL. */
  int64_t (*decompressed_len)(void *context, const uint8_t *from, size_t from_len);
  int64_t (*decompress)(void *context, const uint8_t *from, size_t from_len, uint8_t *to, size_t to_len, char *fault, size_t fault_len);
  /* Returns the most bytes that `len` bytes compress to: no more than twice as many and 64 KiB. */
  int64_t (*compressed_len)(void *context, size_t len);
  int64_t (*compress)(void *context, const uint8_t *from, size_t from_len, int32_t level, uint8_t *to, size_t to_len, char *fault,
                  size_t fault_len);
} logsegment_codec;

#endif
