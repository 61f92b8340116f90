//! Kafka's wire error codes that record data can cause (FORMAT section 12; `Errors` in Kafka's clients).

/// A code with Kafka's name for it, and what it says about records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KafkaError {
    /// The number on the wire.
    pub code: i16,
    /// The name in `Errors`.
    pub name: &'static str,
    /// When record data causes it.
    pub when: &'static str,
}

macro_rules! errors {
    ($($name:ident = $code:literal, $when:literal;)*) => {
        $(#[doc = $when] pub const $name: KafkaError = KafkaError { code: $code, name: stringify!($name), when: $when };)*
        /// All of them, by code.
        pub const ALL: &[KafkaError] = &[$($name),*];
    };
}

errors! {
    UNKNOWN_SERVER_ERROR = -1, "any other exception: an unknown codec id, a decompressor that fails";
    CORRUPT_MESSAGE = 2, "a wrong checksum, size or magic; before 2.4 also what is INVALID_RECORD now";
    INVALID_FETCH_SIZE = 4, "Kafka 0.7 and 0.8: a message larger than the fetch size, or a negative size";
    MESSAGE_TOO_LARGE = 10, "a batch over max.message.bytes";
    RECORD_LIST_TOO_LARGE = 18, "a batch over the segment size";
    INVALID_TIMESTAMP = 32, "a timestamp out of the topic's range, or LogAppendTime set by a producer";
    UNSUPPORTED_VERSION = 35, "a request version that is not served, or down-conversion that is switched off";
    INVALID_REQUEST = 42, "a request that contradicts itself";
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "transactional or idempotent records for a format before magic 2";
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "a sequence that does not follow the producer's last one";
    DUPLICATE_SEQUENCE_NUMBER = 46, "a sequence that was appended before";
    INVALID_PRODUCER_EPOCH = 47, "an epoch below the producer's current one";
    FENCED_LEADER_EPOCH = 74, "a leader epoch that is too old; the text of KIP-110 has this number for zstd, which shipped as 76";
    UNSUPPORTED_COMPRESSION_TYPE = 76, "zstd for a client that is too old for it (KIP-110)";
    INVALID_RECORD = 87, "records that break a rule of their format or topic; since 2.4 (KIP-467)";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn err_1_zstd_is_76_and_codes_ascend() {
        assert_eq!(UNSUPPORTED_COMPRESSION_TYPE.code, 76);
        assert!(ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
    }
}
