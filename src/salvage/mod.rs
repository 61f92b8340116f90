//! Every valid entry out of damaged bytes, byte for byte, and an account of every byte that is left out.
//!
//! Goes on past damage as a decode does, and with its findings: what is in the log is what a reader that skips damage reads. Offsets are
//! covered by no checksum, so a log for a broker is settled afterwards (`order`, `runs`): sorted, without copies, without entries whose
//! offsets fit nowhere.

mod account;
mod cut;
mod opening;
mod order;
mod ordered_log;
mod place;
mod records;
mod runs;
mod salvager;

pub use account::{KeptRange, LostRange, SalvageAccount};
pub use cut::changed;
pub use order::AllowedOffsets;
pub use ordered_log::{OrderedLog, Passes};
pub use place::EntryPosition;
pub use salvager::{SalvageOptions, Salvaged, Salvager};
