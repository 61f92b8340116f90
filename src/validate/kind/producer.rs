//! What a producer gets wrong across batches.

use std::fmt;

/// Problems of a batch compared with the earlier batches of its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the numbers are named by the message of their kind")]
pub enum ProducerProblem {
    /// PRD-1: the sequence of an idempotent producer does not follow.
    SequenceGap { expected: i32, found: i32 },
    /// PRD-2: an older epoch of a producer.
    LowerEpoch { epoch: i16, previous: i16 },
    /// TRX-1: a marker of a producer that has no transaction open.
    MarkerWithoutData,
    /// TRX-2: a transaction is open for longer than a coordinator allows.
    HangingTransaction { open_ms: i64 },
    /// TRX-3: an older epoch of a coordinator.
    LowerCoordinatorEpoch { epoch: i32, previous: i32 },
    /// TRX-4: a batch outside of a transaction while its producer has one open.
    OutsideTransaction,
}

impl ProducerProblem {
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::SequenceGap { .. } => "PRD-1",
            Self::LowerEpoch { .. } => "PRD-2",
            Self::MarkerWithoutData => "TRX-1",
            Self::HangingTransaction { .. } => "TRX-2",
            Self::LowerCoordinatorEpoch { .. } => "TRX-3",
            Self::OutsideTransaction => "TRX-4",
        }
    }

    pub(super) fn write(self, producer_id: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SequenceGap { expected, found } => {
                write!(f, "the sequence of producer {producer_id} is {found}, expected {expected}")
            }
            Self::LowerEpoch { epoch, previous } => write!(f, "producer {producer_id} writes in epoch {epoch} after {previous}"),
            Self::MarkerWithoutData => write!(f, "the marker of producer {producer_id} has no open transaction to end"),
            Self::HangingTransaction { open_ms } => {
                write!(f, "the transaction of producer {producer_id} hangs: the log has {open_ms} ms after its start, and no marker")
            }
            Self::LowerCoordinatorEpoch { epoch, previous } => {
                write!(f, "the marker of producer {producer_id} has coordinator epoch {epoch} after {previous}")
            }
            Self::OutsideTransaction => write!(f, "producer {producer_id} writes outside its open transaction"),
        }
    }
}
