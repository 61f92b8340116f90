//! Made by tools/message_tables.py from the message schemas of a release of Kafka; not edited by hand.

use super::{Kind::*, Message, Record, array, field, group, message, record};

/// The types of records, by their numbers.
pub static RECORDS: &[Record] = &[record(0, "TRANSACTION_LOG", Some(&TRANSACTION_LOG_KEY), &TRANSACTION_LOG_VALUE)];

static TRANSACTION_LOG_KEY: Message = message("TransactionLogKey", 0, 0, 32767).of(&[field("transactionalId", Text).since(0, 0)]);

static TRANSACTION_LOG_VALUE: Message = message("TransactionLogValue", 0, 1, 1).of(&[
    field("producerId", Int64),
    field("previousProducerId", Int64).since(1, 32767).tagged(0, 1, 32767).otherwise(-1),
    field("nextProducerId", Int64).since(1, 32767).tagged(1, 1, 32767).otherwise(-1),
    field("producerEpoch", Int16),
    field("nextProducerEpoch", Int16).since(1, 32767).tagged(3, 1, 32767).otherwise(-1),
    field("transactionTimeoutMs", Int32),
    field("transactionStatus", Int8),
    field("transactionPartitions", array(&group(&[field("topic", Text), field("partitionIds", array(&Int32))]))).nullable(0, 32767),
    field("transactionLastUpdateTimestampMs", Int64),
    field("transactionStartTimestampMs", Int64),
    field("clientTransactionVersion", Int16).since(1, 32767).tagged(2, 1, 32767),
]);
