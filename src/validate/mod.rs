//! The same parser as `decode`, with findings instead of an end: what is wrong, where, how bad, and what may be lost.

mod batch;
mod finding;
mod findings;
mod gaps;
mod message;
mod producers;
mod record;
mod report;
mod severity;
mod told;
mod walk;
mod what;

pub use batch::Neighbours;
pub use finding::{Finding, Severity};
pub use findings::Findings;
pub use report::{Before, Depth, Validator};
pub use what::{Misplaced, Missing, ProducerFault, What};
