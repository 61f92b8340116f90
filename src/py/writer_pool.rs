//! Writers that come back: a caller who encodes piece by piece finds storage and compression contexts warm.

use std::sync::Mutex;

use crate::codec::Plugins;
use crate::encode::{BatchSettings, RecordWriter};
use crate::error::Result;

static KEPT: Mutex<Vec<RecordWriter>> = Mutex::new(Vec::new());

/// Writers kept at most, and the most bytes of storage that one of them may hold.
const MOST: usize = 4;
const MOST_BYTES: usize = 8 << 20;

/// A writer that was given back, or a new one.
pub fn take(settings: BatchSettings, batch_bytes: usize, base_offset: i64) -> Result<RecordWriter> {
    // Whoever holds the lock, in another thread or at the time of a fork: nobody waits for it.
    let kept = KEPT.try_lock().ok().and_then(|mut kept| kept.pop());
    let Some(mut writer) = kept else { return RecordWriter::new(settings, batch_bytes, base_offset) };
    writer.reopen(settings, batch_bytes, base_offset)?;
    Ok(writer)
}

/// Keeps a writer, unless it holds a lot or there are enough.
pub fn give_back(mut writer: RecordWriter) {
    writer.set_plugins(Plugins::default());
    if writer.held_bytes() > MOST_BYTES {
        return;
    }
    if let Ok(mut kept) = KEPT.try_lock()
        && kept.len() < MOST
    {
        kept.push(writer);
    }
}
