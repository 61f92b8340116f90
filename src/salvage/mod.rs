//! Every valid entry out of damaged bytes, byte for byte, and an account of every byte that is left out.
//!
//! Goes on past damage as validation does and with its findings. What is kept is what a checksum proves; offsets are covered by none, so
//! a log for a broker is settled afterwards (`order`): sorted, without copies, without entries whose offsets fit nowhere.

mod account;
mod cut;
mod order;
mod ordered_log;
mod records;
mod salvager;

pub use account::{Account, KeptRange, LostRange};
pub use cut::changed;
pub use order::{Fit, Place};
pub use ordered_log::{OrderedLog, Passes};
pub use salvager::{Found, SalvageOptions, Salvager};
