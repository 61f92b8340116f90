//! The same parser as `decode`, with findings instead of an end: what is wrong, where, how bad, and what may be lost.

mod batch;
mod finding;
mod findings;
mod message;
mod producers;
mod record;
mod report;
mod told;

pub use batch::Neighbours;
pub use finding::{Finding, Misplaced, Severity, What};
pub use findings::Findings;
pub use report::{Before, Depth, Validator};
