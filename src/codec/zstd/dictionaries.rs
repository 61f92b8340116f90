use std::sync::Arc;

use crate::error::{ErrorKind, Result, plural};

/// Trained dictionaries, by their ids. Nothing on Kafka's wire names them: the caller supplies them (COD-Z5).
#[derive(Clone, Debug, Default)]
pub struct Dictionaries(Arc<Vec<(u64, Vec<u8>)>>);

/// The first bytes of a trained dictionary; its id follows.
const MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

impl Dictionaries {
    /// From the bytes of each.
    ///
    /// # Errors
    /// `Usage` for bytes that are no trained dictionary: without an id no frame can name them.
    pub fn new(dictionaries: Vec<Vec<u8>>) -> Result<Self> {
        let named = |bytes: Vec<u8>| -> Result<(u64, Vec<u8>)> {
            let id = bytes.strip_prefix(&MAGIC).and_then(|rest| rest.first_chunk::<4>()).map(|id| u32::from_le_bytes(*id));
            match id.filter(|id| *id != 0) {
                Some(id) => Ok((u64::from(id), bytes)),
                None => {
                    let problem = format!("not a trained zstd dictionary with an id: {} given", plural(bytes.len(), "byte"));
                    Err(ErrorKind::Usage { argument: "zstd_dictionaries", problem }.into())
                }
            }
        };
        Ok(Self(Arc::new(dictionaries.into_iter().map(named).collect::<Result<_>>()?)))
    }

    /// The dictionary of this id.
    pub(super) fn get(&self, id: u64) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, bytes)| bytes.as_slice())
    }
}
