//! The same parser as `decode`, with findings instead of an end: what is wrong, where, how bad, and what may be lost.

mod batch;
mod finding;
mod record;
mod report;

pub use finding::{Finding, Severity, What};
pub use report::{Depth, Validator};
