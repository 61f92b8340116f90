use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::codec::ChecksumForm;
use crate::codec::lz4::descriptor::Descriptor;
use crate::convert::lz4::{ChecksumSurvey, WrittenForm, rewrite};
use crate::error::Result;
use crate::framing::{FrameEvent, Run, Runs, Tail};
use crate::interrupt::Interrupt;
use crate::limits::Limits as CoreLimits;
use crate::py::bytes_writer::{self, BytesWriter};
use crate::py::errors;
use crate::py::interrupt::Signals;
use crate::py::limits::PyLimits;
use crate::py::option_values::{checksum_form, choice};
use crate::py::source;
use crate::py::source::buffer;
use crate::wire::Sink;

/// Bytes of entries that are rewritten at a time.
const PIECE: usize = 1 << 20;
/// Bytes of entries that are rewritten before they are copied to where they stay.
const SOME: usize = 256 << 10;

/// The header checksum that an LZ4 frame should have; see `logsegment.lz4_header_checksum`.
#[pyfunction]
pub fn lz4_header_checksum(py: Python<'_>, frame: &Bound<'_, PyAny>, form: &str) -> PyResult<u8> {
    let form = checksum_form("form", form)?;
    let Some(mut head) = buffer::source(frame)? else {
        return Err(PyTypeError::new_err("the frame must be bytes, or another buffer"));
    };
    // A descriptor takes at most 15 bytes; a mutable buffer must be asked for them.
    head.fill(PIECE).map_err(|error| errors::to_py(py, &error))?;
    let descriptor = Descriptor::parse(head.front()).map_err(|error| errors::to_py(py, &error))?;
    Ok(descriptor.checksum(form))
}

/// Message sets with rewritten LZ4 frames, piece by piece; see `logsegment.fix_lz4` and `logsegment.break_lz4`.
#[pyclass(frozen, module = "logsegment._core")]
pub struct Lz4Rewriter {
    state: Mutex<FixState>,
    form: WrittenForm,
    limits: CoreLimits,
    signals: Arc<Signals>,
    interrupt: Interrupt,
}

struct FixState {
    runs: Runs,
    /// Bytes to copy after the last complete entry.
    rest: Option<Tail>,
    is_over: bool,
}

/// Something to write.
enum Lz4Piece {
    Entries(Run),
    Torn(Vec<u8>),
    Zeros(usize),
}

#[pymethods]
impl Lz4Rewriter {
    #[new]
    #[pyo3(signature = (source, form, limits, is_whole))]
    fn new(source: &Bound<'_, PyAny>, form: &str, limits: Option<&PyLimits>, is_whole: bool) -> PyResult<Self> {
        let (signals, interrupt) = Signals::new();
        let limits = PyLimits::or_default(limits);
        let opened = source::open_alone(source, &signals)?;
        let target = if is_whole && opened.source.is_memory() { usize::MAX } else { PIECE };
        let state = FixState { runs: Runs::new(opened.source, limits, target), rest: None, is_over: false };
        Ok(Self { state: Mutex::new(state), form: written_form(form)?, limits, signals, interrupt })
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let part = py.detach(|| {
            let Ok(mut state) = self.state.try_lock() else { return None };
            Some(self.interrupt.ensure_wanted().and_then(|()| state.next_part()))
        });
        let part = part.ok_or_else(|| PyRuntimeError::new_err("the rewriter is already being read"))?;
        match part.map_err(|error| self.signals.raised(py, &error))? {
            None => Ok(None),
            Some(Lz4Piece::Torn(bytes)) => Ok(Some(PyBytes::new(py, &bytes))),
            Some(Lz4Piece::Zeros(len)) => PyBytes::new_with(py, len, |_| Ok(())).map(Some),
            Some(Lz4Piece::Entries(run)) => self.rewritten(py, &run).map(Some),
        }
    }
}

fn written_form(name: &str) -> PyResult<WrittenForm> {
    let forms = [ChecksumForm::Correct, ChecksumForm::Broken].map(WrittenForm::Of);
    choice("form", name, ["correct", "broken"].into_iter().zip(forms).chain([("magic", WrittenForm::OfMagic)]))
}

impl Lz4Rewriter {
    fn rewritten<'py>(&self, py: Python<'py>, run: &Run) -> PyResult<Bound<'py, PyBytes>> {
        bytes_writer::written(py, run.len, |writer| {
            py.detach(|| self.rewrite_run(run, writer)).map_err(|error| self.signals.raised(py, &error.from_position(run.position)))
        })
    }

    /// A few entries at a time, which stay in the caches from one look to the next.
    fn rewrite_run(&self, run: &Run, writer: &mut BytesWriter<'_>) -> Result<()> {
        let (mut some, mut read) = (Sink::default(), 0);
        while read < run.len {
            self.interrupt.ensure_wanted()?;
            let entries = run.entries_from(read);
            let position = u64::try_from(read).unwrap_or(u64::MAX);
            read += rewrite(entries, self.form, &self.limits, &mut some, SOME).map_err(|error| error.from_position(position))?;
            writer.put(some.bytes());
            some.clear();
        }
        Ok(())
    }
}

impl FixState {
    fn next_part(&mut self) -> Result<Option<Lz4Piece>> {
        if self.is_over {
            return Ok(None);
        }
        if self.rest.is_none() {
            match self.runs.next_piece()? {
                Some(FrameEvent::Run(run)) => return Ok(Some(Lz4Piece::Entries(run))),
                Some(_) => return Ok(None),
                None => self.rest = self.runs.tail(),
            }
        }
        Ok(self.next_of_tail())
    }

    /// Returns the next bytes after the last complete entry, unchanged.
    fn next_of_tail(&mut self) -> Option<Lz4Piece> {
        match self.rest {
            Some(Tail::Zeros { position, bytes }) if bytes > 0 => {
                let len = usize::try_from(bytes).unwrap_or(usize::MAX).min(PIECE);
                let left = bytes.saturating_sub(u64::try_from(len).unwrap_or(bytes));
                self.rest = Some(Tail::Zeros { position, bytes: left });
                Some(Lz4Piece::Zeros(len))
            }
            tail => {
                self.is_over = true;
                matches!(tail, Some(Tail::Torn { .. })).then(|| Lz4Piece::Torn(self.runs.left().to_vec()))
            }
        }
    }
}

/// Magic, form of the header checksum, whether 0.8 and 0.9 refuse the frame anyway, how many, position of the first.
type SurveyRow = (i8, &'static str, bool, u64, u64);

/// Kinds of LZ4 frames of a source; see `logsegment.check_lz4`.
#[pyfunction]
pub fn lz4_survey(py: Python<'_>, source: &Bound<'_, PyAny>, limits: Option<&PyLimits>) -> PyResult<Vec<SurveyRow>> {
    let (signals, interrupt) = Signals::new();
    let limits = PyLimits::or_default(limits);
    let opened = source::open_alone(source, &signals)?;
    let survey = py.detach(|| survey(Runs::new(opened.source, limits, PIECE), &limits, &interrupt));
    let survey = survey.map_err(|error| signals.raised(py, &error))?;
    Ok(survey.frames.into_iter().map(|((magic, form, is_new), (count, at))| (magic, form.name(), is_new, count, at)).collect())
}

fn survey(mut runs: Runs, limits: &CoreLimits, interrupt: &Interrupt) -> Result<ChecksumSurvey> {
    let mut survey = ChecksumSurvey::default();
    while let Some(piece) = runs.next_piece()? {
        interrupt.ensure_wanted()?;
        if let FrameEvent::Run(run) = piece {
            survey.add(run.entries_from(0), run.position, limits)?;
        }
    }
    Ok(survey)
}
