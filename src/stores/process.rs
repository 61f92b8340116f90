//! The runtime of this process. A forked child makes its own: threads stay in the parent.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use super::error::{StoreError, StoreErrorKind};
use crate::interrupt::Interrupt;

/// Threads that wait for answers; decrypting TLS is most of their work.
const THREADS: usize = 2;
/// How often a wait asks whether the answer is still wanted.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// The runtime, and the process that started it.
static RUNTIME: Mutex<Option<(u32, Runtime)>> = Mutex::new(None);

/// Returns the runtime of this process.
///
/// # Errors
/// `Other`, if the system gives no threads.
pub(super) fn handle(uri: &str) -> Result<Handle, StoreError> {
    let mut kept = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, runtime)) = kept.as_ref()
        && *owner == process
    {
        return Ok(runtime.handle().clone());
    }
    provide_cryptography();
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).thread_name("logsegment-stores").enable_all().build();
    let runtime = runtime.map_err(|error| StoreError::new(StoreErrorKind::Other, uri, error.to_string()))?;
    let handle = runtime.handle().clone();
    // The runtime of the parent has no threads here, so that to end it would wait forever.
    std::mem::forget(kept.replace((process, runtime)));
    Ok(handle)
}

/// Runs a request and waits for its answer.
///
/// # Errors
/// That of the request, and `Interrupted`.
pub(super) fn wait<T: Send + 'static>(
    uri: &str,
    interrupt: &Interrupt,
    request: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    Pending::begin(&handle(uri)?, request).answer(uri, interrupt)
}

/// An answer that is on its way. Dropped, it ends the request.
#[derive(Debug)]
pub struct Pending<T> {
    receiver: mpsc::Receiver<Result<T, StoreError>>,
    task: tokio::task::AbortHandle,
    /// Stops work in another thread.
    is_unwanted: Arc<AtomicBool>,
}

impl<T: Send + 'static> Pending<T> {
    pub(super) fn begin(runtime: &Handle, request: impl Future<Output = Result<T, StoreError>> + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = runtime.spawn(async move {
            // The receiver is gone if the answer is not wanted any more.
            drop(sender.send(request.await));
        });
        Self { receiver, task: task.abort_handle(), is_unwanted: Arc::default() }
    }

    /// Wait for the answer.
    ///
    /// # Errors
    /// Those of the request, and `Interrupted`.
    pub fn answer(self, uri: &str, interrupt: &Interrupt) -> Result<T, StoreError> {
        loop {
            match self.receiver.recv_timeout(ASKED_EVERY) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) => {
                    if interrupt.ensure_wanted().is_err() {
                        return Err(StoreError::new(StoreErrorKind::Interrupted, uri, "interrupted"));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(StoreError::new(StoreErrorKind::Other, uri, "the request ended without an answer"));
                }
            }
        }
    }
}

/// Begin work that waits for answers of a store, in another thread. Its interrupt stops it if the result is not wanted any more.
///
/// # Errors
/// `Other`, if the system gives no threads.
pub fn in_background<T: Send + 'static>(uri: &str, work: impl FnOnce(&Interrupt) -> T + Send + 'static) -> Result<Pending<T>, StoreError> {
    let (runtime, name) = (handle(uri)?, uri.to_owned());
    let is_unwanted = Arc::<AtomicBool>::default();
    let asked = Arc::clone(&is_unwanted);
    let interrupt = Interrupt::new(move || asked.load(Ordering::Relaxed));
    let mut pending = Pending::begin(&runtime, async move {
        let done = tokio::task::spawn_blocking(move || work(&interrupt)).await;
        done.map_err(|error| StoreError::new(StoreErrorKind::Other, name, error.to_string()))
    });
    pending.is_unwanted = is_unwanted;
    Ok(pending)
}

/// A request that is not wanted any more ends.
impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        self.is_unwanted.store(true, Ordering::Relaxed);
        self.task.abort();
    }
}

/// Lets the HTTP client use ring. Another library of this process may have chosen before.
fn provide_cryptography() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));
}
