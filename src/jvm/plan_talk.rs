//! A plan that asks Java while it is made. It runs on a thread of its own; Java calls `next` until there is a result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::interrupt::Interrupt;

/// The text of a panic.
const PANIC: &str = "logsegment.InternalError: internal error, please report it: the plan of a Spark query panicked";

/// What a plan says to Java.
#[derive(Debug, PartialEq, Eq)]
pub enum PlanMessage {
    /// The plan goes on after an answer.
    Question(Vec<u8>),
    /// The result.
    Result(Vec<u8>),
    /// The text of an error.
    Failed(String),
}

/// The side of Java.
pub struct PlanTalk {
    messages: Receiver<PlanMessage>,
    answers: Option<Sender<Vec<u8>>>,
    is_unwanted: Arc<AtomicBool>,
    is_asked: bool,
    /// The bytes that were given out last.
    bytes: Vec<u8>,
}

/// The side of the plan.
pub struct Asker {
    messages: Sender<PlanMessage>,
    answers: Mutex<Receiver<Vec<u8>>>,
    is_unwanted: Arc<AtomicBool>,
}

/// What `next` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanState {
    Result,
    Question,
    Failed,
}

impl PlanTalk {
    /// Start a plan on a thread.
    pub fn start(plan: impl FnOnce(Arc<Asker>) -> Result<Vec<u8>, String> + Send + 'static) -> Self {
        let (to_java, messages) = channel();
        let (answers, from_java) = channel();
        let is_unwanted = Arc::<AtomicBool>::default();
        let asker = Arc::new(Asker { messages: to_java.clone(), answers: Mutex::new(from_java), is_unwanted: Arc::clone(&is_unwanted) });
        let run = move || {
            let planned = catch_unwind(AssertUnwindSafe(|| plan(asker)));
            let message = match planned {
                Ok(Ok(bytes)) => PlanMessage::Result(bytes),
                Ok(Err(text)) => PlanMessage::Failed(text),
                Err(_) => PlanMessage::Failed(PANIC.to_owned()),
            };
            // Nobody waits for a plan that Java gave up.
            let _ = to_java.send(message);
        };
        let started = thread::Builder::new().name("logsegment-plan".to_owned()).spawn(run);
        let answers = started.is_ok().then_some(answers);
        Self { messages, answers, is_unwanted, is_asked: false, bytes: Vec::new() }
    }

    /// Wait for the next message. `answer` is that to the question before.
    pub fn next(&mut self, answer: &[u8]) -> PlanState {
        if std::mem::take(&mut self.is_asked)
            && let Some(answers) = &self.answers
        {
            let _ = answers.send(answer.to_vec());
        }
        match self.messages.recv() {
            Ok(PlanMessage::Question(bytes)) => {
                (self.bytes, self.is_asked) = (bytes, true);
                PlanState::Question
            }
            Ok(PlanMessage::Result(bytes)) => {
                self.bytes = bytes;
                PlanState::Result
            }
            Ok(PlanMessage::Failed(text)) => {
                self.bytes = text.into_bytes();
                PlanState::Failed
            }
            Err(_) => {
                self.bytes = "OSError: no thread could be started for the plan of a Spark query".as_bytes().to_vec();
                PlanState::Failed
            }
        }
    }

    /// The bytes of the last message.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for PlanTalk {
    fn drop(&mut self) {
        self.is_unwanted.store(true, Ordering::Relaxed);
    }
}

impl Asker {
    /// Ask Java; `None` if it does not want the plan any more.
    pub fn ask(&self, question: Vec<u8>) -> Option<Vec<u8>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        self.messages.send(PlanMessage::Question(question)).ok()?;
        answers.recv().ok()
    }

    /// Stops work that Java does not want any more.
    pub fn interrupt(&self) -> Interrupt {
        let is_unwanted = Arc::clone(&self.is_unwanted);
        Interrupt::new(move || is_unwanted.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_answered_before_the_result() {
        let mut talk = PlanTalk::start(|asker| {
            let first = asker.ask(b"one".to_vec()).unwrap();
            let second = asker.ask(b"two".to_vec()).unwrap();
            Ok([first, second].concat())
        });
        assert_eq!((talk.next(b""), talk.bytes()), (PlanState::Question, &b"one"[..]));
        assert_eq!((talk.next(b"a"), talk.bytes()), (PlanState::Question, &b"two"[..]));
        assert_eq!((talk.next(b"b"), talk.bytes()), (PlanState::Result, &b"ab"[..]));
    }

    #[test]
    fn errors_and_panics_are_texts() {
        let mut failed = PlanTalk::start(|_| Err("ValueError: no".to_owned()));
        assert_eq!((failed.next(b""), failed.bytes()), (PlanState::Failed, &b"ValueError: no"[..]));
        let mut panicked = PlanTalk::start(|_| panic!("no"));
        assert_eq!((panicked.next(b""), panicked.bytes()), (PlanState::Failed, PANIC.as_bytes()));
    }

    #[test]
    fn a_plan_ends_that_nobody_wants() {
        let (sender, receiver) = channel();
        let mut talk = PlanTalk::start(move |asker| {
            let answer = asker.ask(Vec::new());
            sender.send((answer, asker.interrupt().ensure_wanted().is_err())).unwrap();
            Ok(Vec::new())
        });
        talk.next(b"");
        drop(talk);
        assert_eq!(receiver.recv().unwrap(), (None, true));
    }
}
