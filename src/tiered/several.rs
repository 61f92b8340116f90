//! Questions about several objects at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, Builder};
use std::time::Duration;

use super::error::TieredResult;
use crate::interrupt::Interrupt;

/// Objects that are requested from a store at once.
const REQUESTS: usize = 16;
/// How often a wait asks whether the answers are still wanted.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// Asks about each item, in a store about several at once; the answers are in the order of the items.
///
/// # Errors
/// The first error that arrives, and `Interrupted`.
pub(super) fn asked<T: Sync, U: Send>(
    is_stored: bool,
    items: &[T],
    interrupt: &Interrupt,
    ask: impl Fn(&T, &Interrupt) -> TieredResult<U> + Sync,
) -> TieredResult<Vec<U>> {
    if !is_stored || items.len() < 2 {
        return items.iter().map(|item| ask(item, interrupt)).collect();
    }
    // Python's signals reach the thread that waits.
    let is_unwanted = Arc::new(AtomicBool::new(false));
    let (next, (sender, answers)) = (AtomicUsize::new(0), mpsc::channel());
    thread::scope(|scope| {
        for _ in 0..REQUESTS.min(items.len()) {
            let (sender, next, ask, flag) = (sender.clone(), &next, &ask, Arc::clone(&is_unwanted));
            let own = Interrupt::new(move || flag.load(Ordering::Relaxed));
            // With fewer threads the others do more.
            let _ = Builder::new().spawn_scoped(scope, move || {
                while let Some((at, item)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?))) {
                    if sender.send((at, ask(item, &own))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut found: Vec<Option<U>> = items.iter().map(|_| None).collect();
        let failed = loop {
            match answers.recv_timeout(ASKED_EVERY) {
                Ok((at, Ok(answer))) => found.get_mut(at).map_or((), |place| *place = Some(answer)),
                Ok((_, Err(error))) => break Some(error),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = interrupt.ensure_wanted() {
                        break Some(error.into());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        is_unwanted.store(failed.is_some(), Ordering::Relaxed);
        next.store(if failed.is_some() { items.len() } else { 0 }.max(next.load(Ordering::Relaxed)), Ordering::Relaxed);
        failed.map_or_else(|| Ok(found.into_iter().flatten().collect()), Err)
    })
}
