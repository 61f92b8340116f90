//! Files of a store or of tiered storage, by the URIs that the Python package carries.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::framing::{Ending, LostRanges, Source};
use crate::interrupt::Interrupt;
use crate::io::named_offset;
use crate::jvm::names::keys;
use crate::jvm::note::TaskNote;
use crate::jvm::part::SegmentBytes;
use crate::jvm::uncut::ensure_uncut;
use crate::log::not_a_segment;
use crate::model::UploadOffsets;
use crate::stores::{Location, StorageOptions, StoredFile, StoredRange};
use crate::tiered::{self, TieredError, TieredRange, Uri};
use crate::validate::Finding;
use crate::validate::lost_ranges::RULE;

/// The last error of a store, of which the core's error has only the text.
pub type Raised = Arc<Mutex<Option<TieredError>>>;

/// What a store reports about the bytes of one part.
#[derive(Debug, Default)]
pub struct StoreReports {
    skips_damage: bool,
    findings: Mutex<Vec<Finding>>,
    lost: Arc<LostRanges>,
    raised: Raised,
}

impl StoreReports {
    /// Reports of a read that continues after lost bytes, or ends with an error in `raised`.
    pub fn new(skips_damage: bool, raised: &Raised) -> Arc<Self> {
        Arc::new(Self { skips_damage, raised: Arc::clone(raised), ..Self::default() })
    }

    /// True if the read continues after damage.
    pub fn skips_damage(&self) -> bool {
        self.skips_damage
    }

    /// The findings of the store, each once.
    pub fn notes(&self) -> Vec<TaskNote> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).iter().map(TaskNote::from).collect()
    }

    fn add(&self, findings: Vec<Finding>) {
        let mut kept = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        for finding in findings {
            if finding.rule() == RULE {
                self.lost.add(finding.position..finding.position.saturating_add(finding.length));
            }
            if !kept.contains(&finding) {
                kept.push(finding);
            }
        }
    }

    /// Keep an error of a store, and return it as one of reading.
    fn raised(&self, error: TieredError) -> io::Error {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        error.into()
    }
}

/// Open bytes; see `opening::source`.
///
/// # Errors
/// `NotASegment` by the name of the file, unless damage is skipped; the errors of the store and of `on_cut`.
pub fn open(bytes: &SegmentBytes, reports: &Arc<StoreReports>, on_cut: &dyn Fn(String) -> Result<()>) -> Result<Source> {
    let text = bytes.path.to_string_lossy();
    if bytes.start == 0 && !reports.skips_damage() {
        let name = bytes.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        not_a_segment::error(&name, &[]).map_or(Ok(()), Err)?;
    }
    let never = Interrupt::default();
    let raised = |error: TieredError| Error::from(reports.raised(error));
    if Uri::is_one(&text) {
        let uri = Uri::parse(&text, keys).map_err(raised)?;
        let file = tiered::open(&uri, &never).map_err(raised)?;
        ensure_uncut(bytes, file.size(), on_cut)?;
        // What a broker wrote is in order all the same.
        let offsets = file.offsets.unwrap_or(UploadOffsets { start: i64::MIN, end: None });
        let range = UploadedBytes { range: TieredRange::new(file, bytes.start, bytes.end, never), reports: Arc::clone(reports) };
        let source = Source::reader(Box::new(range), bytes.start).with_lost_ranges(Arc::clone(&reports.lost));
        return Ok(source.of_upload(Some(offsets)).before(ending(bytes, Ending::Uploaded)));
    }
    let opened = Location::parse(&text, &StorageOptions::new()).and_then(|location| StoredFile::open(&location, &never));
    let file = opened.map_err(|error| raised(error.into()))?;
    ensure_uncut(bytes, file.size(), on_cut)?;
    let range = StoredRange::new(file, bytes.start, bytes.end, never);
    Ok(Source::reader(Box::new(range), bytes.start).before(ending(bytes, Ending::Open)))
}

/// What follows the last byte; `whole` after the last segment.
fn ending(bytes: &SegmentBytes, whole: Ending) -> Ending {
    match (bytes.end, bytes.next_offset) {
        (Some(at), _) if bytes.is_inner => Ending::Entry { at },
        (None, None) => whole,
        (_, Some(next)) => Ending::Segment { first: named_offset(&bytes.path), next },
        _ => Ending::Open,
    }
}

/// Bytes of an upload. A read that skips damage gets other bytes in the place of lost ones, and the reports say so.
struct UploadedBytes {
    range: TieredRange,
    reports: Arc<StoreReports>,
}

impl Read for UploadedBytes {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let (len, part) = self.range.read_part(to, self.reports.skips_damage()).map_err(|error| self.reports.raised(error))?;
        self.reports.add(part.findings);
        Ok(len)
    }
}
