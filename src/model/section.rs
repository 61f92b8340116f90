/// The uncompressed records of one entry, and as many bytes after them as may be read.
///
/// The values of bytes after it are ignored; it lets a reader load in fixed windows (see `wire::varint::Window`).
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    readable: &'a [u8],
    len: usize,
    is_decompressed: bool,
}

impl<'a> Section<'a> {
    /// The first `len` bytes of `readable`; all of it when it is shorter.
    pub fn new(readable: &'a [u8], len: usize) -> Self {
        Self { readable, len: len.min(readable.len()), is_decompressed: false }
    }

    /// The same section as the output of a codec, for which reports have other rules.
    #[must_use]
    pub fn decompressed(self) -> Self {
        Self { is_decompressed: true, ..self }
    }

    /// True when a codec gave these bytes.
    pub fn is_decompressed(&self) -> bool {
        self.is_decompressed
    }

    /// The bytes of the section.
    pub fn bytes(&self) -> &'a [u8] {
        self.readable.get(..self.len).unwrap_or_default()
    }

    /// The bytes of the section and those after it.
    #[inline(always)]
    pub fn readable(&self) -> &'a [u8] {
        self.readable
    }

    /// Bytes of the section.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A run of the section's bytes; empty when it is out of bounds.
    #[inline(always)]
    pub fn run(&self, start: usize, len: usize) -> &'a [u8] {
        self.readable.get(start..).and_then(|tail| tail.get(..len)).unwrap_or_default()
    }
}
