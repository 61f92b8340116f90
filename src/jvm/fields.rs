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

/// Writes fields as `TaskFields` reads them.
#[derive(Debug, Default)]
pub struct FieldsWriter(Vec<u8>);

impl FieldsWriter {
    /// The bytes of the fields.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn long(&mut self, value: i64) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn flag(&mut self, value: bool) -> &mut Self {
        self.long(i64::from(value))
    }

    pub fn unsigned(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn given(&mut self, value: Option<i64>) -> &mut Self {
        self.long(value.unwrap_or(NONE))
    }

    pub fn given_unsigned(&mut self, value: Option<u64>) -> &mut Self {
        self.given(value.map(|value| i64::try_from(value).unwrap_or(i64::MAX)))
    }

    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.count(value.len());
        self.0.extend(value);
        self
    }

    pub fn text(&mut self, value: &str) -> &mut Self {
        self.bytes(value.as_bytes())
    }

    pub fn given_text(&mut self, value: Option<&str>) -> &mut Self {
        match value {
            None => self.flag(false),
            Some(value) => self.flag(true).text(value),
        }
    }

    /// Bytes that are fields already.
    pub fn raw(&mut self, fields: &[u8]) -> &mut Self {
        self.0.extend(fields);
        self
    }

    /// A count and as many items.
    pub fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        mut item: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        let items = items.into_iter();
        self.count(items.len());
        items.for_each(|value| item(self, value));
        self
    }

    #[cfg(unix)]
    pub fn path(&mut self, path: &std::path::Path) -> &mut Self {
        use std::os::unix::ffi::OsStrExt;
        self.bytes(path.as_os_str().as_bytes())
    }

    #[cfg(not(unix))]
    pub fn path(&mut self, path: &std::path::Path) -> &mut Self {
        self.text(&path.to_string_lossy())
    }

    fn count(&mut self, number: usize) {
        self.0.extend(i32::try_from(number).unwrap_or(i32::MAX).to_be_bytes());
    }
}
