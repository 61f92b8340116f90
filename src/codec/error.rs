//! The errors of corrupt streams.

use std::borrow::Cow;

use crate::error::{Error, ErrorKind};
use crate::quirks::Quirks;

#[cold]
pub fn gzip_error(rule: &'static str, problem: &'static str) -> Error {
    corrupt("gzip", rule, problem.into())
}

#[cold]
pub fn lz4_error(rule: &'static str, problem: &'static str) -> Error {
    corrupt("lz4", rule, problem.into())
}

#[cold]
pub fn snappy_error(rule: &'static str, problem: &'static str) -> Error {
    corrupt("snappy", rule, problem.into())
}

#[cold]
pub fn zstd_error(rule: &'static str, problem: impl Into<Cow<'static, str>>) -> Error {
    corrupt("zstd", rule, problem.into())
}

fn corrupt(codec: &'static str, rule: &'static str, problem: Cow<'static, str>) -> Error {
    ErrorKind::Codec { rule, codec, problem, quirks: Quirks::default() }.into()
}
