//! A run of bytes to entries, one after the other. A torn tail is a state, not an error.
//! Knows where an entry starts and ends, and nothing of what is in it.

mod entry;
mod frame;
mod lost_ranges;
pub mod runs;
mod search;
pub mod source;
mod successor;
mod tail;
mod v07;
pub mod verifier;

pub use entry::{LOG_OVERHEAD, step};
pub use frame::{Frame, Step};
pub use lost_ranges::LostRanges;
pub use runs::{Damage, FrameEvent, Run, Runs};
pub use source::{Positioned, Source};
pub use tail::{Before, Ending, Tail};
pub use verifier::{Claim, EntryChecksum, SourceCheck, Verifier};
