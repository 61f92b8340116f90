//! Files by path or URI: those of this machine, of stores, and of tiered storage, as `partition` asks for them.
//!
//! Callers without Python ask `FileStorage`. The Python package has a storage of its own, which also knows buffers, and raises exceptions.

pub mod local_paths;
mod storage;
mod store_file;
pub mod uris;

pub use storage::FileStorage;
