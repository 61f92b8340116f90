//! What a codec compresses: the frames around it, and the uncompressed bytes as an area of their own.

use bytes::Bytes;

use super::codecs;
use super::field_writer::{Areas, FieldWriter, owned};
use super::node::{Mark, Node};
use super::options::InspectContext;
use crate::codec::{Codec, Decompressed, Decompressor, HeaderChecksum, Memory, OutputPlacement, PluginOutput};
use crate::decode::entry_len;
use crate::error::{Error, ErrorKind, Result, plural};
use crate::limits::Budget;
use crate::model::{BatchHeader, CompressionType};
use crate::quirks::Quirks;

/// Decompresses streams, and keeps the trees of what they give.
pub(super) struct Decompression<'a, 'w> {
    areas: &'a Areas,
    wanted: &'w InspectContext<'w>,
    decompressor: Decompressor,
    /// All levels spend the one budget of the entry.
    budget: Option<Budget>,
    nodes: Vec<Node>,
    /// What no bytes are to blame for.
    failed: Option<Error>,
}

impl<'a, 'w> Decompression<'a, 'w> {
    pub(super) fn new(areas: &'a Areas, wanted: &'w InspectContext<'w>) -> Self {
        // Readers refuse such blocks, as the findings say; what they hold is shown all the same.
        let decompressor = Decompressor::default().with_quirks(Quirks::ALL);
        let decompressor = decompressor.with_zstd_dictionaries(wanted.options.codecs.zstd_dictionaries.clone());
        Self { areas, wanted, decompressor, budget: None, nodes: Vec::new(), failed: None }
    }

    /// The trees of all that was decompressed.
    ///
    /// # Errors
    /// As `inspect`.
    pub(super) fn take(self) -> Result<Vec<Node>> {
        self.failed.map_or(Ok(self.nodes), Err)
    }

    /// Writes all that is left as a compressed field, and what is in it.
    pub(super) fn write_compressed(
        &mut self,
        writer: &mut FieldWriter<'a>,
        name: &'static str,
        header: &BatchHeader,
        write: impl FnOnce(&mut FieldWriter<'a>),
    ) {
        let len = writer.left().len();
        writer.group_of(name, len, |inner| self.write_stream(inner, header.compression()));
        self.write_decompressed(writer, len, name, header, |inner, _| write(inner));
    }

    /// Writes the frames of a codec.
    pub(super) fn write_stream(&self, writer: &mut FieldWriter<'a>, codec: CompressionType) {
        match codec {
            CompressionType::Gzip => codecs::gzip::write(writer, self.budget_of(writer.left().len())),
            CompressionType::Snappy => codecs::snappy::write(writer),
            CompressionType::Lz4 => codecs::lz4::write(writer),
            CompressionType::Zstd => codecs::zstd::write(writer),
            CompressionType::Plugin(_) => {
                writer.rest("compressed");
                writer.note("bytes of the plugin's own");
            }
            CompressionType::None | CompressionType::Unknown(_) => {
                writer.rest("compressed");
            }
        }
    }

    /// Decompresses the `len` bytes that were taken last, and writes what is in them as an area of its own.
    pub(super) fn write_decompressed(
        &mut self,
        writer: &mut FieldWriter<'a>,
        len: usize,
        what: &str,
        header: &BatchHeader,
        write: impl FnOnce(&mut FieldWriter<'a>, &mut Self),
    ) {
        let codec = header.compression();
        // Readers refuse zstd before magic 2.
        if !self.wanted.is_deep() || !header.format.is_batch() && codec == CompressionType::Zstd {
            return;
        }
        if self.failed.is_some() {
            return;
        }
        let compressed = writer.taken(len);
        let mut buffer = Decompressed::default();
        let (bytes, problem) = match self.decompress(header, &compressed, &mut buffer) {
            Ok(Some(given)) => (given, None),
            Ok(None) => (owned_bytes(buffer), None),
            Err(error) if !error.is_about_data() => {
                self.failed = Some(error);
                return;
            }
            Err(error) => (owned_bytes(buffer), Some(error)),
        };
        if let (Some(error), true) = (&problem, bytes.is_empty()) {
            if let Some(node) = writer.last() {
                node.marks.push(mark_of(error));
            }
            return;
        }
        let (len, place) = (bytes.len(), self.nodes.len());
        let area = self.areas.add_area(area_name(what, codec), bytes.clone());
        let mut inner = FieldWriter::new(self.areas, area, 0, bytes);
        write(&mut inner, self);
        let mut node = Node { children: inner.finish(), ..Node::new("decompressed", area, 0, len) };
        node.marks.extend(problem.as_ref().map(mark_of));
        node.note = format!("{}, compressed in {}; positions count in them", plural(number(len), "byte"), number(compressed.len()));
        self.nodes.insert(place.min(self.nodes.len()), node);
    }

    fn decompress(&mut self, header: &BatchHeader, compressed: &[u8], buffer: &mut Decompressed) -> Result<Option<Bytes>> {
        let budget = self.budget_of(compressed.len());
        let codec = match header.compression() {
            CompressionType::Gzip => Codec::Gzip,
            CompressionType::Snappy => Codec::Snappy,
            CompressionType::Lz4 => Codec::Lz4(HeaderChecksum::Correct, entry_len(header)),
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
                return Ok((place == OutputPlacement::Given).then_some(given));
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

/// Returns the name of a codec with the name of the compressed field.
fn area_name(what: &str, codec: CompressionType) -> String {
    format!("{what}, decompressed from {}", codec.name())
}
