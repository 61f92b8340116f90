//! The fields of a task's data: bytes go in, numbers, texts and lists come out. All numbers are big-endian.

use std::path::PathBuf;

use crate::error::Result;
use crate::wire::Cursor;

/// A number that is not given.
pub const NONE: i64 = i64::MIN;

/// A cursor over the data. Each read fails if the bytes end before the field does.
pub struct TaskFields<'a>(Cursor<'a>);

impl<'a> TaskFields<'a> {
    /// The fields in these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Cursor::new(bytes, "INTERNAL"))
    }

    /// True if no bytes are left.
    pub fn is_at_end(&self) -> bool {
        self.0.left().is_empty()
    }

    pub fn long(&mut self) -> Result<i64> {
        self.0.take_array("task").map(i64::from_be_bytes)
    }

    pub fn flag(&mut self) -> Result<bool> {
        Ok(self.long()? != 0)
    }

    /// A number; limits that are lifted are the largest one.
    pub fn unsigned(&mut self) -> Result<u64> {
        self.0.take_array("task").map(u64::from_be_bytes)
    }

    pub fn size(&mut self) -> Result<usize> {
        Ok(usize::try_from(self.unsigned()?).unwrap_or(usize::MAX))
    }

    pub fn given(&mut self) -> Result<Option<i64>> {
        self.long().map(|value| (value != NONE).then_some(value))
    }

    pub fn given_unsigned(&mut self) -> Result<Option<u64>> {
        Ok(self.given()?.and_then(|value| u64::try_from(value).ok()))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.0.take_i32("task")?;
        self.0.take(usize::try_from(len).unwrap_or(usize::MAX), "task")
    }

    /// Bytes of a known number.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.0.take_array("task")
    }

    pub fn text(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    pub fn given_text(&mut self) -> Result<Option<String>> {
        if self.flag()? { self.text().map(Some) } else { Ok(None) }
    }

    /// A count and as many items. Memory is taken item by item: the count is a claim.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.0.take_i32("task")?;
        (0..count).map(|_| item(self)).collect()
    }

    /// Names of files are bytes, which need not be text.
    #[cfg(unix)]
    pub fn path(&mut self) -> Result<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        Ok(std::ffi::OsStr::from_bytes(self.bytes()?).into())
    }

    #[cfg(not(unix))]
    pub fn path(&mut self) -> Result<PathBuf> {
        Ok(self.text()?.into())
    }
}
