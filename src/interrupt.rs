//! A question that long work asks now and then: should it stop?

use std::fmt;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};

/// Asks the caller whether to go on. The default never stops.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Interrupt {
    /// Stops when `ask` says so.
    pub fn new(ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// Fails when the work should stop.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn ensure_wanted(&self) -> Result<()> {
        match &self.0 {
            Some(ask) if ask() => Err(ErrorKind::Interrupted.into()),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Interrupt(..)" } else { "Interrupt(never)" })
    }
}
