//! Arrow data from and to other libraries, by the capsules of the Arrow PyCapsule interface.

pub mod c_stream;
pub mod export;
pub mod import;
pub mod libraries;
pub mod rows;
pub mod stream;
pub mod table;
