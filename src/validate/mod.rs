//! The same parser as `decode`, with findings instead of an end: what is wrong, where, how bad, and what may be lost.

mod batch;
mod clock;
mod depth;
mod finding;
mod findings;
mod gaps;
mod kind;
pub mod lost_ranges;
mod message;
mod producers;
mod record;
mod report;
mod rule_counts;
mod severity;
mod walk;

pub use batch::Neighbours;
pub use depth::Depth;
pub use finding::{Finding, Severity};
pub use findings::Findings;
pub use kind::{FindingKind, Misplaced, MissingCause, ProducerProblem};
pub use producers::ProducerRules;
pub use report::{EarlierBatches, Validator};
