//! Record batch, magic 3: both proposals of KIP-931, which was discarded. No broker reads or writes it.
//!
//! What is the same as in magic 2 is that of magic 2: checksum, records, their order and their limits.

pub mod encode;
mod fields;
pub mod layout;
pub mod magic;
pub mod parse;
pub mod records;
