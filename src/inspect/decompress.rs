//! The stream of a codec: its frames, and the decompressed bytes as an area of their own.

use bytes::Bytes;

use super::node::{Mark, Node, Value};
use super::scribe::{Book, Scribe};
use super::{Wanted, area_name, codecs, owned};
use crate::codec::{Codec, Decompressed, Decompressor, HeaderChecksum, Memory, Place, PluginOutput};
use crate::decode::entry_len;
use crate::error::{Error, ErrorKind, Result, counted};
use crate::limits::Budget;
use crate::model::{BatchHeader, CompressionType};
use crate::wire::as_u64;

/// Decompresses streams, and keeps the trees of their contents.
pub(super) struct Decompression<'a, 'w> {
    book: &'a Book,
    wanted: &'w Wanted<'w>,
    decompressor: Decompressor,
    /// All levels spend the one budget of the entry.
    budget: Option<Budget>,
    nodes: Vec<Node>,
    /// An error that the bytes did not cause.
    failed: Option<Error>,
}

impl<'a, 'w> Decompression<'a, 'w> {
    pub(super) fn new(book: &'a Book, wanted: &'w Wanted<'w>) -> Self {
        // Readers refuse such blocks, as the findings say; their content is shown all the same.
        let decompressor = Decompressor::default().with_dependent_lz4_blocks(true);
        let decompressor = decompressor.with_zstd_dictionaries(wanted.options.codecs.zstd_dictionaries.clone());
        Self { book, wanted, decompressor, budget: None, nodes: Vec::new(), failed: None }
    }

    /// Returns the trees of all streams that were decompressed.
    ///
    /// # Errors
    /// As `inspect`.
    pub(super) fn take(self) -> Result<Vec<Node>> {
        self.failed.map_or(Ok(self.nodes), Err)
    }

    /// Writes the rest as a compressed field, and its content.
    pub(super) fn write_compressed(
        &mut self,
        scribe: &mut Scribe<'a>,
        name: &'static str,
        header: &BatchHeader,
        write: impl FnOnce(&mut Scribe<'a>),
    ) {
        let len = scribe.left().len();
        scribe.group_of(name, len, |inner| self.write_stream(inner, header.compression()));
        self.write_decompressed(scribe, len, name, header, |inner, _| write(inner));
    }

    /// Writes the frames of a codec.
    pub(super) fn write_stream(&self, scribe: &mut Scribe<'a>, codec: CompressionType) {
        match codec {
            CompressionType::Gzip => codecs::gzip::write(scribe, self.budget_of(scribe.left().len())),
            CompressionType::Snappy => codecs::snappy::write(scribe),
            CompressionType::Lz4 => codecs::lz4::write(scribe),
            CompressionType::Zstd => codecs::zstd::write(scribe),
            CompressionType::Plugin(_) => {
                scribe.rest("compressed");
                scribe.note("bytes of the plugin's own");
            }
            CompressionType::None | CompressionType::Unknown(_) => {
                scribe.rest("compressed");
            }
        }
    }

    /// Decompresses the last `len` bytes that were written, and writes their content as an area of its own.
    pub(super) fn write_decompressed(
        &mut self,
        scribe: &mut Scribe<'a>,
        len: usize,
        what: &str,
        header: &BatchHeader,
        write: impl FnOnce(&mut Scribe<'a>, &mut Self),
    ) {
        let codec = header.compression();
        // Readers refuse zstd before magic 2.
        if !self.wanted.is_deep() || !header.format.is_batch() && codec == CompressionType::Zstd {
            return;
        }
        if self.failed.is_some() {
            return;
        }
        let compressed = scribe.taken(len);
        let mut buffer = Decompressed::default();
        let (bytes, fault) = match self.decompress(header, &compressed, &mut buffer) {
            Ok(Some(given)) => (given, None),
            Ok(None) => (owned_bytes(buffer), None),
            Err(error) if !error.is_about_data() => {
                self.failed = Some(error);
                return;
            }
            Err(error) => (owned_bytes(buffer), Some(error)),
        };
        if let (Some(error), true) = (&fault, bytes.is_empty()) {
            if let Some(node) = scribe.last() {
                node.marks.push(mark_of(error));
            }
            return;
        }
        let (len, place) = (bytes.len(), self.nodes.len());
        let area = self.book.add_area(area_name(what, codec), bytes.clone());
        let mut inner = Scribe::new(self.book, area, 0, bytes);
        write(&mut inner, self);
        let mut node = self.node(area, len, inner.finish(), fault.as_ref());
        node.note = format!("{}, compressed in {}; positions count in them", counted(number(len), "byte"), number(compressed.len()));
        self.nodes.insert(place.min(self.nodes.len()), node);
    }

    fn decompress(&mut self, header: &BatchHeader, compressed: &[u8], buffer: &mut Decompressed) -> Result<Option<Bytes>> {
        let budget = self.budget_of(compressed.len());
        let codec = match header.compression() {
            CompressionType::Gzip => Codec::Gzip,
            CompressionType::Snappy => Codec::Snappy,
            CompressionType::Lz4 => Codec::Lz4(HeaderChecksum::Ignored, entry_len(header)),
            CompressionType::Zstd => Codec::Zstd,
            CompressionType::Plugin(id) => {
                let memory = Memory::of(&owned(compressed));
                let mut given = Bytes::new();
                let place = self.wanted.options.codecs.plugins.decompress(
                    id,
                    compressed,
                    &memory,
                    PluginOutput { buffer, given: &mut given },
                    &budget,
                )?;
                return Ok((place == Place::Given).then_some(given));
            }
            none @ (CompressionType::None | CompressionType::Unknown(_)) => {
                return Err(Error::from(ErrorKind::UnknownCompression { rule: "V2-33", id: none.id() }));
            }
        };
        let decompressed = self.decompressor.decompress_valid_part(codec, compressed, buffer, &budget, None);
        self.budget = Some(budget.after(buffer.len()));
        decompressed.map(|()| None)
    }

    fn budget_of(&self, compressed: usize) -> Budget {
        self.budget.unwrap_or_else(|| Budget::for_entry(&self.wanted.options.limits, compressed))
    }

    fn node(&self, area: usize, len: usize, children: Vec<Node>, fault: Option<&Error>) -> Node {
        let marks = fault.map(mark_of);
        Node {
            name: "decompressed".into(),
            value: Value::None,
            area,
            start: 0,
            len: as_u64(len),
            note: String::new(),
            marks: marks.into_iter().collect(),
            children,
        }
    }
}

fn mark_of(error: &Error) -> Mark {
    Mark { rule: error.rule(), severity: "error", message: error.message() }
}

fn owned_bytes(buffer: Decompressed) -> Bytes {
    let len = buffer.len();
    let mut storage = buffer.into_vec();
    storage.truncate(len);
    Bytes::from(storage)
}

fn number(len: usize) -> i128 {
    i128::try_from(len).unwrap_or(i128::MAX)
}
