//! The Python module: names, arguments, the GIL. Parses nothing. One file per verb; the only room that names pyo3.

mod array;
mod arrow_in;
mod arrow_out;
mod batches;
mod buffer;
mod c_stream;
mod compat;
mod decode;
mod errors;
mod file_object;
mod finding;
mod foreign;
mod interrupt;
mod limits;
mod lz4;
mod options;
mod register;
mod source;
mod stream;
mod table;
mod transactions;
mod validate;
