//! Control records: rows that `isControl` marks, or that have a `controlType`.

use arrow_array::{Array, ArrayRef};

use super::bytes::ByteRuns;
use super::flags::Flags;
use crate::error::{ErrorKind, Result};
use crate::model::control::marker_value;
use crate::model::{ControlType, NewRecord};

/// Which rows are control records, and of which type.
pub(super) struct Controls<'a> {
    flags: Option<Flags<'a>>,
    types: Option<ByteRuns<'a>>,
}

impl<'a> Controls<'a> {
    /// The two columns; nothing when no row can be a control record.
    ///
    /// # Errors
    /// `Usage` for columns of another type.
    pub(super) fn of(flags: Option<&'a ArrayRef>, types: Option<&'a ArrayRef>) -> Result<Option<Self>> {
        let flags = flags.map(|array| Flags::of("isControl", array)).transpose()?;
        let is_any_typed = types.is_some_and(|types| types.logical_null_count() < types.len());
        let types = types.map(|array| ByteRuns::of("controlType", array)).transpose()?;
        let is_any = flags.as_ref().map_or(is_any_typed, |flags| !flags.are_clear());
        Ok(is_any.then_some(Self { flags, types }))
    }

    /// `isControl` decides where it is there.
    #[inline]
    pub(super) fn is_control(&self, row: usize) -> bool {
        match &self.flags {
            Some(flags) => flags.get(row),
            None => self.types.as_ref().is_some_and(|types| types.get(row).is_some()),
        }
    }

    /// Hands the record on as a control record. A key or value that is there is taken; a null key is made of the type, and a null value of
    /// a transaction marker says coordinator epoch 0.
    ///
    /// # Errors
    /// `Usage` without a key and a type of Kafka's name, and what `write` meets.
    pub(super) fn with_contents(&self, row: usize, record: NewRecord<'_>, write: impl FnOnce(&NewRecord<'_>) -> Result<()>) -> Result<()> {
        let made;
        let key = match record.key {
            Some(key) => key,
            None => {
                made = self.kind(row)?.key();
                &made
            }
        };
        let marker = marker_value(0);
        let is_marker = ControlType::parse(Some(key))?.is_marker();
        let value = record.value.or(is_marker.then_some(marker.as_slice()));
        write(&NewRecord { key: Some(key), value, is_control: true, ..record })
    }

    fn kind(&self, row: usize) -> Result<ControlType> {
        let name = self.types.as_ref().and_then(|types| types.get(row)).map(String::from_utf8_lossy);
        let known = name.as_deref().and_then(ControlType::named);
        known.ok_or_else(|| {
            let problem = match name {
                Some(name) => format!("the column \"controlType\" has an unknown control type: {name:?}"),
                None => "a control record needs a key or a controlType".to_owned(),
            };
            ErrorKind::Usage { argument: "table", problem }.into()
        })
    }
}
