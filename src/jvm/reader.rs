//! The reader of one Spark task: batches one after the other, and errors as Python words them.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::columns::source_chain::{Open, SourceChain};
use crate::columns::{BatchSource, StreamOptions, stream};
use crate::decode::Stats;
use crate::error::{Error, ErrorKind, Result, grouped};
use crate::framing::Source;
use crate::io::{FileRange, ensure_segment, position_07};
use crate::jvm::columns::layout;
use crate::jvm::stored;
use crate::jvm::task::{Part, Task};
use crate::model::{Formats, RecordFormat};

/// Reads the parts of a task.
pub struct TaskReader {
    source: Option<SourceChain>,
    /// The rows whose addresses were given out last.
    batch: Option<RecordBatch>,
    addresses: Vec<i64>,
    stats: Stats,
    hint: String,
    message: String,
}

/// What a call of `next` found.
pub enum Next {
    /// As many rows.
    Rows(usize),
    /// No rows any more.
    End,
    /// An error, whose text is `message`.
    Failed,
}

impl TaskReader {
    /// A reader of the task in `data`. What is wrong with the data is for `next` to report.
    pub fn new(data: &[u8]) -> Self {
        let mut reader =
            Self { source: None, batch: None, addresses: Vec::new(), stats: Stats::default(), hint: String::new(), message: String::new() };
        match Task::parse(data) {
            Ok(task) => {
                let schema = stream::schema_of(&task.options);
                let shared = Arc::new(task.options);
                let waiting = task.parts.into_iter().map(|part| opener(part, &shared));
                reader.source = Some(SourceChain::new(schema, waiting));
                reader.hint = task.hint;
            }
            Err(error) => reader.fail(&error),
        }
        reader
    }

    /// Read the next batch; the addresses of the one before are no longer valid.
    pub fn next(&mut self) -> Next {
        self.batch = None;
        let Some(source) = &mut self.source else { return if self.message.is_empty() { Next::End } else { Next::Failed } };
        let next = source.next_batch();
        // FAILFAST has no findings of damage, and those of a torn tail are not rows.
        source.take_findings();
        self.stats = source.stats();
        match next {
            Ok(Some(batch)) => {
                layout(&batch, &mut self.addresses);
                let rows = batch.num_rows();
                self.batch = Some(batch);
                Next::Rows(rows)
            }
            Ok(None) => {
                self.source = None;
                Next::End
            }
            Err(error) => {
                self.fail(&error);
                Next::Failed
            }
        }
    }

    /// The numbers of the columns of the last batch; see `layout`.
    pub fn addresses(&self) -> &[i64] {
        &self.addresses
    }

    /// The text of the error.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What was done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// End with an error.
    pub fn fail(&mut self, error: &Error) {
        (self.source, self.batch) = (None, None);
        self.message = text(error, &self.hint);
    }
}

fn opener(part: Part, shared: &Arc<StreamOptions>) -> (Arc<str>, Open) {
    let shared = Arc::clone(shared);
    (Arc::from(stored::shown(&part.path)), Box::new(move || open(&part, &shared)))
}

fn open(part: &Part, shared: &StreamOptions) -> Result<Box<dyn BatchSource>> {
    let mut options = part.options(shared);
    if let Some(position) = position_07(&part.path) {
        options.decode.formats = Formats::Only(RecordFormat::V07);
        options.decode.base_position = position;
    }
    let source = if stored::is_stored(&part.path) { stored::open(part)? } else { local(part)? };
    Ok(stream::open(source, options))
}

fn local(part: &Part) -> Result<Source> {
    ensure_uncut(part)?;
    if part.start == 0 {
        ensure_segment(&part.path)?;
    }
    let file = FileRange::open(&part.path, part.start, part.end)?;
    Ok(Source::positioned(Box::new(file), part.start).before(part.ending()))
}

/// Report a file that was cut or deleted after the query was planned: a read of it would give fewer records without an error.
fn ensure_uncut(part: &Part) -> Result<()> {
    let path = part.path.to_string_lossy();
    let len = match fs::metadata(&part.path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(lost(gone(&part.path), io::ErrorKind::NotFound)),
        Err(error) => return Err(error.into()),
    };
    match Some(part.end.unwrap_or(part.start)).filter(|end| len < *end) {
        Some(end) => {
            let what = format!("{path} was cut to {} after the query was planned with {}", count(len, "byte"), grouped(end));
            Err(lost(what, io::ErrorKind::Other))
        }
        None => Ok(()),
    }
}

/// Why a file that was listed is not there.
fn gone(path: &Path) -> String {
    match fs::read_link(path) {
        Ok(to) => format!("{} is a link to {}, where there is nothing", path.display(), to.display()),
        Err(_) => format!("{} was deleted after the query was planned", path.display()),
    }
}

pub(super) fn lost(what: String, kind: io::ErrorKind) -> Error {
    ErrorKind::Io { kind, os_code: None, message: format!("{what}; set failOnDataLoss to false to read what is left") }.into()
}

/// What to do about an undamaged batch that cannot be read here. `logsegment.spark.read.damage` has the same texts.
const LEAVING_OUT: &str = "set the option unreadable to skip to leave out such batches";

/// An error as the Python reader raises it: the class, the file, what is wrong, and the option that skips damage.
fn text(error: &Error, hint: &str) -> String {
    let class = error.kind().class();
    match error.kind() {
        ErrorKind::Io { kind, os_code: Some(code), .. } => {
            let told = io::Error::from_raw_os_error(*code).to_string();
            let told = told.split(" (os error").next().unwrap_or_default();
            format!("{}: [Errno {code}] {told}: '{}'", io_class(*kind), error.file().unwrap_or_default())
        }
        ErrorKind::Io { kind, message, .. } => format!("{}: {message}", io_class(*kind)),
        ErrorKind::NotASegment { .. } | ErrorKind::Internal { .. } => format!("logsegment.{class}: {error}"),
        ErrorKind::Limit { limit, .. } if error.is_unreadable() => {
            let leaving_out = LEAVING_OUT.trim_start_matches("set ");
            format!("logsegment.{class}: {error}; set the option limits.{limit} to raise the limit, or {leaving_out}")
        }
        _ if error.is_unreadable() => format!("logsegment.{class}: {error}; {LEAVING_OUT}"),
        ErrorKind::OutsideSegment { .. } => {
            format!("logsegment.{class}: {error}; {}", hint.replace("skip damage", "read the segment all the same"))
        }
        _ if class == "UnsupportedError" || class == "UnknownCompressionError" => format!("logsegment.{class}: {error}"),
        _ => format!("logsegment.{class}: {error}; {hint}"),
    }
}

/// Python's class of errors of the operating system.
fn io_class(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::NotFound => "FileNotFoundError",
        io::ErrorKind::PermissionDenied => "PermissionError",
        io::ErrorKind::IsADirectory => "IsADirectoryError",
        _ => "OSError",
    }
}

/// `1 byte`, `2,048 bytes`.
pub(super) fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        assert_eq!([count(1, "byte"), count(2048, "byte")], ["1 byte", "2,048 bytes"]);
    }
}
