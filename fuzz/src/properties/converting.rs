//! Any entries to any format and codec: what comes out is whole and holds the same records.

use bytes::Bytes;
use logsegment::columns::Column;
use logsegment::convert::{ConvertOptions, Converter};
use logsegment::framing::Source;
use logsegment::model::{CompressionType, Formats, RecordFormat};
use logsegment::wire::Sink;

use super::choices::Choices;
use super::reading::{Asked, are_same, options, read};

/// Four bytes of choices, then the input.
pub fn check(bytes: &[u8]) {
    use CompressionType::{Gzip, Lz4, None as Uncompressed, Snappy, Zstd};
    let mut choices = Choices(bytes);
    let from = choices.formats();
    let to = choices.one_of([RecordFormat::V2, RecordFormat::V3, RecordFormat::V1, RecordFormat::V0]);
    let compression = choices.one_of([None, Some(Uncompressed), Some(Gzip), Some(Snappy), Some(Lz4), Some(Zstd)]);
    let flags = choices.byte();
    let wanted = ConvertOptions {
        decode: options(from),
        to,
        compression,
        is_metadata_first: to == RecordFormat::V3 && flags & 1 == 1,
        level: None,
        is_up_wanted: flags & 2 == 0,
        first_offset: None,
        batch_bytes: 1000,
    };
    convert(choices.0, wanted);
}

fn convert(input: &[u8], wanted: ConvertOptions) {
    // Kafka refuses some pairs of format and codec.
    let Ok(mut converter) = Converter::new(Source::memory(Bytes::copy_from_slice(input)), wanted.clone(), false) else { return };
    let mut out = Sink::default();
    let is_whole = loop {
        match converter.advance(&mut out) {
            Ok(true) => {}
            Ok(false) => break converter.stopped().is_none(),
            Err(_) => break false,
        }
    };
    if !is_whole || !converter.losses().is_empty() {
        return;
    }
    // Entries that need no conversion are copied without a look into them, whatever is wrong there.
    let columns = Asked::of(&[Column::Key, Column::Value]);
    let original = read(input, &wanted.decode, &columns);
    let converted = read(out.bytes(), &options(Formats::Every), &columns);
    if original.error.is_none() {
        assert!(converted.error.is_none(), "{wanted:?}: {:?}", converted.error);
        assert!(are_same(&original.batches, &converted.batches), "{wanted:?}");
    }
}
