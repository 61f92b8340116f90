//! Where the chunks of a segment are (TS-14 to TS-20). A count is a claim: positions of chunks of one size are multiplied, not listed (TS-41).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use base64::Engine;
use serde_json::Value;

use super::error::{TieredError, TieredResult, counted};
use super::members::{BASE64, number};
use crate::codec::{Codec, Decompressed, Decompressor};
use crate::error::grouped;
use crate::limits::{Budget, Limits};
use crate::wire::as_u64;

/// Most bytes of a list of sizes, the limit of Aiven's plug-in (TS-20).
const MOST_SIZES: u64 = 10 << 20;
const MOST_SIZE: u64 = 0x7fff_ffff;

/// A chunk: a range of the segment, and the range of the object that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) number: u64,
    pub(super) position: u64,
    pub(super) size: u64,
    pub(super) stored_position: u64,
    pub(super) stored_size: u64,
}

impl Chunk {
    /// Its bytes of the segment.
    pub(super) fn bytes(&self) -> Range<u64> {
        self.position..self.position.saturating_add(self.size)
    }

    /// Its bytes of the object.
    pub(super) fn stored(&self) -> Range<u64> {
        self.stored_position..self.stored_position.saturating_add(self.stored_size)
    }
}

/// The chunks of one segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChunkTable {
    /// Bytes of the segment in each chunk but the last; not 0.
    chunk_size: u64,
    /// Bytes of the segment.
    pub(super) file_size: u64,
    /// The end of each chunk in the object; `None` if all but the last have one size.
    ends: Option<Vec<u64>>,
    /// Bytes of the object in each chunk but the last.
    stored_size: u64,
    last_stored_size: u64,
}

impl ChunkTable {
    /// Parse a `chunkIndex`.
    ///
    /// Source: `AbstractChunkIndex`, `FixedSizeChunkIndex` and `VariableSizeChunkIndex` of Aiven's plug-in.
    pub(super) fn parse(index: &Value) -> TieredResult<Self> {
        let Some(members) = index.as_object() else { return Err(TieredError::manifest("TS-11", "chunkIndex must be an object")) };
        let chunk_size = number(members, "originalChunkSize", 1, MOST_SIZE, "TS-14")?;
        let file_size = number(members, "originalFileSize", 0, MOST_SIZE, "TS-14")?;
        let table = Self { chunk_size, file_size, ends: None, stored_size: 0, last_stored_size: 0 };
        match members.get("type").and_then(Value::as_str) {
            Some("fixed") => Ok(Self {
                stored_size: number(members, "transformedChunkSize", 0, MOST_SIZE, "TS-16")?,
                last_stored_size: number(members, "finalTransformedChunkSize", 0, MOST_SIZE, "TS-16")?,
                ..table
            }),
            Some("variable") => {
                let data = decompressed(members.get("transformedChunks"))?;
                let (found, chunks) = (as_u64(integer(&data, 0)?), table.len());
                if found != chunks {
                    let wanted = format!("those of the {} of {}", counted(chunks, "chunk"), counted(file_size, "byte"));
                    let text = format!("transformedChunks has {}, not {wanted}", counted(found, "size"));
                    return Err(TieredError::manifest("TS-17", text));
                }
                let ends = parse_sizes(&data)?.into_iter().scan(0, |end, size| {
                    *end += size;
                    Some(*end)
                });
                Ok(Self { ends: Some(ends.collect()), ..table })
            }
            _ => {
                let text = format!("chunkIndex.type must be fixed or variable, not {}", members.get("type").unwrap_or(&Value::Null));
                Err(TieredError::manifest("TS-14", text))
            }
        }
    }

    /// A number that differs between tables with other chunks.
    pub(super) fn layout(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// How many chunks the segment has.
    pub(super) fn len(&self) -> u64 {
        self.file_size.div_ceil(self.chunk_size)
    }

    pub(super) fn get(&self, number: u64) -> Option<Chunk> {
        if number >= self.len() {
            return None;
        }
        let position = number * self.chunk_size;
        let size = self.chunk_size.min(self.file_size - position);
        let (stored_position, stored_size) = match &self.ends {
            None => (number * self.stored_size, if number + 1 == self.len() { self.last_stored_size } else { self.stored_size }),
            Some(ends) => {
                let at = usize::try_from(number).ok()?;
                let begin = at.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
                (begin, ends.get(at)?.saturating_sub(begin))
            }
        };
        Some(Chunk { number, position, size, stored_position, stored_size })
    }

    /// The bytes that the object must have (TS-18).
    pub(super) fn object_size(&self) -> u64 {
        self.len().checked_sub(1).and_then(|last| self.get(last)).map_or(0, |last| last.stored().end)
    }

    /// True if each byte of the segment is at its own position in the object (TS-26).
    pub(super) fn is_identity(&self) -> bool {
        self.ends.is_none() && self.object_size() == self.file_size && (self.len() < 2 || self.stored_size == self.chunk_size)
    }

    /// Checks that each chunk has a byte in the object: a count of chunks is a claim. `seal` are bytes of each stored chunk that hold none of
    /// the segment.
    pub(super) fn ensure_stored(&self, seal: u64) -> TieredResult<()> {
        let least = match &self.ends {
            _ if self.len() == 0 => return Ok(()),
            None if self.len() == 1 => self.last_stored_size,
            None => self.stored_size.min(self.last_stored_size),
            Some(ends) => {
                let begins = std::iter::once(&0).chain(ends);
                begins.zip(ends).map(|(begin, end)| end.saturating_sub(*begin)).min().unwrap_or(0)
            }
        };
        if least > seal {
            return Ok(());
        }
        let rule = if self.ends.is_none() { "TS-16" } else { "TS-17" };
        Err(TieredError::manifest(rule, format!("a chunk must have more than {} in the object, not {least}", counted(seal, "byte"))))
    }

    /// How many chunks an object of so many bytes holds; those after them are cut off.
    pub(super) fn whole_in(&self, size: u64) -> u64 {
        if let Some(ends) = &self.ends {
            return as_u64(ends.partition_point(|end| *end <= size));
        }
        if size >= self.object_size() {
            return self.len();
        }
        let last = self.len().saturating_sub(1);
        size.checked_div(self.stored_size).map_or(last, |whole| whole.min(last))
    }

    /// The numbers of the chunks that hold a range of the segment (TS-42).
    pub(super) fn holding(&self, bytes: Range<u64>) -> Range<u64> {
        let end = bytes.end.min(self.file_size);
        if bytes.start >= end { 0..0 } else { bytes.start / self.chunk_size..(end - 1) / self.chunk_size + 1 }
    }
}

/// Parse a list of sizes of chunks (TS-19).
///
/// Source: `ChunkSizesBinaryCodec` of Aiven's plug-in.
fn parse_sizes(data: &[u8]) -> TieredResult<Vec<u64>> {
    let count = integer(data, 0)?;
    let unreadable = || {
        let text = format!("a list of {} of chunks cannot be read: it has {}", sizes(count), counted(as_u64(data.len()), "byte"));
        TieredError::manifest("TS-19", text)
    };
    if count < 2 {
        let found = if count == 0 { Vec::new() } else { vec![as_u64(integer(data, 4)?)] };
        return if data.len() == 4 + 4 * count { Ok(found) } else { Err(unreadable()) };
    }
    let base = as_u64(integer(data, 4)?);
    let width = data.get(8).map_or(0, |width| usize::from(*width));
    let end = (count - 1).saturating_mul(width).saturating_add(13);
    let deltas = data.get(9..end.saturating_sub(4)).filter(|_| (1..=4).contains(&width) && data.len() == end);
    let Some(deltas) = deltas else {
        let text = format!("a list of {} of chunks must have another length than {}", sizes(count), counted(as_u64(data.len()), "byte"));
        return Err(TieredError::manifest("TS-19", text));
    };
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let mut found: Vec<u64> = deltas.chunks_exact(width).map(|delta| base + number(delta)).collect();
    found.push(as_u64(integer(data, end - 4)?));
    if found.iter().any(|size| *size > MOST_SIZE) { Err(unreadable()) } else { Ok(found) }
}

fn sizes(count: usize) -> String {
    if count == 1 { "1 size".to_owned() } else { format!("{} sizes", grouped(as_u64(count))) }
}

/// A number of four bytes that is not negative.
fn integer(data: &[u8], at: usize) -> TieredResult<usize> {
    let field = data.get(at..).and_then(|rest| rest.first_chunk::<4>());
    let number = field.and_then(|field| usize::try_from(i32::from_be_bytes(*field)).ok());
    number.ok_or_else(|| TieredError::manifest("TS-19", "a list of sizes of chunks ends early, or has a negative number"))
}

fn decompressed(text: Option<&Value>) -> TieredResult<Vec<u8>> {
    let wrong = |reason: String| TieredError::manifest("TS-17", format!("transformedChunks must be a zstd frame in base64: {reason}"));
    let frame = BASE64.decode(text.and_then(Value::as_str).unwrap_or("!")).map_err(|error| wrong(error.to_string()))?;
    let limits = Limits { max_decompressed_bytes: MOST_SIZES, max_ratio: u64::MAX, ..Limits::default() };
    let (mut data, budget) = (Decompressed::default(), Budget::for_entry(&limits, frame.len()));
    Decompressor::default().decompress(Codec::Zstd, &frame, &mut data, &budget, None).map_err(|error| wrong(error.to_string()))?;
    Ok(data.bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
    }

    fn rule_and_text<T: std::fmt::Debug>(result: TieredResult<T>) -> (&'static str, String) {
        let TieredError::Manifest(error) = result.unwrap_err() else { panic!("another error") };
        (error.rule, error.text)
    }

    fn stored(table: &ChunkTable) -> Vec<(u64, u64, u64, u64)> {
        let chunks = (0..table.len()).map(|number| table.get(number).unwrap());
        chunks.map(|chunk| (chunk.position, chunk.size, chunk.stored_position, chunk.stored_size)).collect()
    }

    /// TS-19: the values of Aiven's ChunkSizesBinaryCodecTest.
    #[test]
    fn lists_of_sizes() {
        for (data, sizes) in [
            ("000000030000000a01000a0000001e", vec![10, 20, 30]),
            ("000000050000000002000003e80002abe200000171", vec![0, 1000, 2, 44002, 369]),
            ("00000001000000d5", vec![213]),
            ("00000000", vec![]),
            ("0000000d0000010f010a1827030c05050005182f0b000000db", vec![281, 295, 310, 274, 283, 276, 276, 271, 276, 295, 318, 282, 219]),
        ] {
            let data = hex(data);
            assert_eq!(parse_sizes(&data).unwrap(), sizes);
            let (mut longer, mut negative) = (data.clone(), data.clone());
            longer.push(0);
            negative[0] = 0xff;
            for wrong in [&data[..data.len() - 1], &longer, &negative] {
                assert_eq!(rule_and_text(parse_sizes(wrong)).0, "TS-19");
            }
        }
    }

    #[test]
    fn sizes_of_every_width() {
        for width in 1..=4_u32 {
            let most = if width == 4 { (1 << 31) - 1000 } else { (1_u64 << (8 * width)) - 1 };
            let deltas = [0, 1, 250, most];
            let mut data = [&5_u32.to_be_bytes()[..], &7_u32.to_be_bytes(), &[u8::try_from(width).unwrap()]].concat();
            deltas.iter().for_each(|delta| data.extend(&delta.to_be_bytes()[8 - usize::try_from(width).unwrap()..]));
            data.extend(99_u32.to_be_bytes());
            assert_eq!(parse_sizes(&data).unwrap(), [7, 8, 257, 7 + most, 99]);
        }
        let above = hex("000000020000000704ffffffff00000009");
        assert!(rule_and_text(parse_sizes(&above)).1.contains("cannot be read"));
    }

    /// TS-15 to TS-18: the values of Aiven's ChunkIndexSerializationTest, and sizes that Aiven v1.0.0 wrote.
    #[test]
    fn tables() {
        let packed = |size: u64, chunk: u64, text: &str| json!({"type": "variable", "originalChunkSize": chunk, "originalFileSize": size, "transformedChunks": text});
        let table = ChunkTable::parse(&packed(250, 100, "KLUv/SAPeQAAAAAAAwAAAAoBAAoAAAAe")).unwrap();
        assert_eq!(stored(&table), [(0, 100, 0, 10), (100, 100, 10, 20), (200, 50, 30, 30)]);
        assert_eq!([0, 9, 10, 59, 60, 99].map(|size| table.whole_in(size)), [0, 0, 1, 2, 3, 3]);
        let fixed = |chunk: u64, size: u64, stored: u64, last: u64| {
            json!({"type": "fixed", "originalChunkSize": chunk, "originalFileSize": size,
                "transformedChunkSize": stored, "finalTransformedChunkSize": last})
        };
        let table = ChunkTable::parse(&fixed(100, 250, 110, 30)).unwrap();
        assert_eq!(stored(&table), [(0, 100, 0, 110), (100, 100, 110, 110), (200, 50, 220, 30)]);
        assert_eq!((table.object_size(), table.is_identity()), (250, false));
        assert_eq!([99..101, 240..999, 250..999].map(|bytes| table.holding(bytes)), [0..2, 2..3, 0..0]);
        assert_eq!([0, 109, 110, 249, 250].map(|size| table.whole_in(size)), [0, 0, 1, 2, 3]);
        let measured = ChunkTable::parse(&packed(12_612, 1000, "KLUv/SAZyQAAAAAADQAAAQ8BChgnAwwFBQAFGC8LAAAA2w==")).unwrap();
        assert_eq!([0, 12].map(|number| measured.get(number).unwrap().stored_size), [281, 219]);
        let huge = ChunkTable::parse(&fixed(1, 0x7fff_ffff, 29, 30)).unwrap();
        assert_eq!((huge.len(), huge.get(0x7fff_fffe).unwrap().stored_position), (0x7fff_ffff, 0x7fff_fffe * 29));
        assert!(ChunkTable::parse(&fixed(100, 250, 100, 50)).unwrap().is_identity());
        for (member, wrong) in [("originalChunkSize", json!(0)), ("originalFileSize", json!(-1)), ("transformedChunkSize", json!("9"))] {
            let mut index = fixed(100, 250, 110, 30);
            index[member] = wrong;
            assert!(rule_and_text(ChunkTable::parse(&index)).1.starts_with(member), "{member}");
        }
        assert!(
            rule_and_text(ChunkTable::parse(&json!({"type": "other", "originalChunkSize": 1, "originalFileSize": 1})))
                .1
                .contains("fixed or variable")
        );
        let (rule, text) = rule_and_text(ChunkTable::parse(&packed(350, 100, "KLUv/SAPeQAAAAAAAwAAAAoBAAoAAAAe")));
        assert_eq!((rule, text.as_str()), ("TS-17", "transformedChunks has 3 sizes, not those of the 4 chunks of 350 bytes"));
    }

    #[test]
    fn every_chunk_has_bytes_in_the_object() {
        let table = |stored_size, last_stored_size| ChunkTable { chunk_size: 1, file_size: 9, ends: None, stored_size, last_stored_size };
        for (table, seal, is_stored) in
            [(table(1, 1), 0, true), (table(0, 9), 0, false), (table(9, 0), 0, false), (table(28, 28), 28, false)]
        {
            assert_eq!(table.ensure_stored(seal).is_ok(), is_stored);
        }
        let listed = ChunkTable { ends: Some(vec![5, 5, 9]), chunk_size: 3, ..table(0, 0) };
        assert_eq!(
            rule_and_text(listed.ensure_stored(0)),
            ("TS-17", "a chunk must have more than 0 bytes in the object, not 0".to_owned())
        );
    }

    /// Ten million sizes of one byte each fit into a manifest of a few hundred bytes.
    #[test]
    fn a_list_has_as_many_sizes_as_there_are_chunks_before_it_is_read() {
        let variable = |size: u64, data: &[u8]| {
            let text = BASE64.encode(zstd::bulk::compress(data, 3).unwrap());
            ChunkTable::parse(&json!({"type": "variable", "originalChunkSize": 1, "originalFileSize": size, "transformedChunks": text}))
        };
        let count = 10_u32 << 20;
        let mut data = [&count.to_be_bytes()[..], &10_u32.to_be_bytes(), &[1]].concat();
        data.resize(data.len() + usize::try_from(count).unwrap() + 3, 0);
        assert!(rule_and_text(variable(u64::from(count), &data)).1.contains("zstd frame"));
        let small = hex("000000050000000a01000000000000000a");
        assert!(rule_and_text(variable(0x7fff_ffff, &small)).1.contains("has 5 sizes, not those of the 2,147,483,647 chunks"));
        assert_eq!(rule_and_text(variable(5, &[0xff; 4])).0, "TS-19");
    }
}
