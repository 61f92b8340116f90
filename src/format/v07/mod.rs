//! Message sets of Kafka 0.6 and 0.7 (`kafka.message.Message` and `ByteBufferMessageSet` of its Scala core).

pub mod encode;
pub mod layout;
pub mod parse;
pub mod records;
