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
  /* Bytes that a packed stream unpacks to, at most, as it says itself. May be NULL. */
  int64_t (*unpacked_len)(void *context, const uint8_t *from, size_t from_len);
  int64_t (*unpack)(void *context, const uint8_t *from, size_t from_len, uint8_t *to, size_t to_len, char *fault, size_t fault_len);
  /* Bytes that so many plain bytes are packed to, at most: no more than twice as many and 64 KiB. */
  int64_t (*packed_len)(void *context, size_t plain_len);
  int64_t (*pack)(void *context, const uint8_t *from, size_t from_len, int32_t level, uint8_t *to, size_t to_len, char *fault,
                  size_t fault_len);
} logsegment_codec;

#endif
