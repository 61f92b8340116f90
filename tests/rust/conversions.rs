//! Whatever the records: they come back as they were written, and a way there and back that loses nothing changes nothing.

use bytes::Bytes;
use logsegment::codec::Compression;
use logsegment::convert::{ConvertOptions, Converter};
use logsegment::decode::DecodeOptions;
use logsegment::encode::{BatchSettings, RecordWriter};
use logsegment::framing::Source;
use logsegment::model::{CompressionType, Formats, NewHeader, NewRecord, RecordFormat};
use logsegment::wire::Sink;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::properties::{OwnHeader, Seen, entries};

const CODECS: [CompressionType; 5] =
    [CompressionType::None, CompressionType::Gzip, CompressionType::Snappy, CompressionType::Lz4, CompressionType::Zstd];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..20), (any::<u8>(), 0..3000_usize).prop_map(|(byte, len)| vec![byte; len])]
}

fn header() -> impl Strategy<Value = OwnHeader> {
    (vec(any::<u8>(), 0..12), proptest::option::of(bytes()))
}

/// Records with absolute offsets and timestamps, as far as a batch of magic 2 can say them.
fn records() -> impl Strategy<Value = Vec<Seen>> {
    let nullable = || proptest::option::weighted(0.8, bytes());
    let timestamp = prop_oneof![Just(-1), 0..2_i64.pow(41)];
    let record = (1..40_i64, timestamp, nullable(), nullable(), vec(header(), 0..3));
    vec(record, 1..60).prop_map(|records| {
        let mut next = 1000;
        let place = |(gap, timestamp, key, value, headers)| {
            next += gap;
            Seen(next, timestamp, key, value, headers)
        };
        records.into_iter().map(place).collect()
    })
}

/// The same without what the format has no room for.
fn within(format: RecordFormat, records: Vec<Seen>) -> Vec<Seen> {
    let fit = |Seen(offset, timestamp, key, value, headers)| match format {
        RecordFormat::V07 => Seen(offset, -1, None, Some(value.unwrap_or_default()), Vec::new()),
        RecordFormat::V0 => Seen(offset, -1, key, value, Vec::new()),
        RecordFormat::V1 => Seen(offset, timestamp, key, value, Vec::new()),
        _ => Seen(offset, timestamp, key, value, headers),
    };
    records.into_iter().map(fit).collect()
}

fn can_hold(format: RecordFormat, codec: CompressionType) -> bool {
    match codec {
        CompressionType::Zstd => format == RecordFormat::V2,
        CompressionType::Lz4 => format != RecordFormat::V07,
        _ => true,
    }
}

fn encode(records: &[Seen], format: RecordFormat, codec: CompressionType, batch_bytes: usize) -> Vec<u8> {
    let settings = BatchSettings::new(format, Compression::new(codec, None).unwrap());
    let mut writer = RecordWriter::new(settings, batch_bytes, 0).unwrap();
    for Seen(offset, timestamp, key, value, headers) in records {
        let headers: Vec<_> = headers.iter().map(|(key, value)| NewHeader { key, value: value.as_deref() }).collect();
        let (key, value) = (key.as_deref(), value.as_deref());
        writer.write(&NewRecord { offset: *offset, timestamp: *timestamp, key, value, headers: &headers, ..NewRecord::default() }).unwrap();
    }
    writer.end_batch().unwrap();
    writer.ended().to_vec()
}

fn formats(format: RecordFormat) -> Formats {
    if format == RecordFormat::V07 { Formats::Only(format) } else { Formats::Auto }
}

/// All records with absolute offsets and timestamps.
fn decode(bytes: &[u8], format: RecordFormat) -> Vec<Seen> {
    let (entries, failed) = entries(bytes, formats(format));
    assert!(!failed);
    let absolute = |(base_offset, base_timestamp, records): (i64, i64, Vec<Seen>)| {
        records.into_iter().map(move |Seen(offset, timestamp, key, value, headers)| {
            Seen(base_offset + offset, base_timestamp.wrapping_add(timestamp), key, value, headers)
        })
    };
    entries.into_iter().flat_map(absolute).collect()
}

/// Converts without any loss.
fn convert(bytes: &[u8], to: RecordFormat, compression: Option<CompressionType>) -> Vec<u8> {
    let options = ConvertOptions {
        decode: DecodeOptions::default(),
        to,
        compression,
        is_metadata_first: false,
        level: None,
        is_up_wanted: true,
        first_offset: None,
        batch_bytes: 2000,
    };
    let mut converter = Converter::new(Source::memory(Bytes::copy_from_slice(bytes)), options, false).unwrap();
    let mut out = Sink::default();
    while converter.advance(&mut out).unwrap() {}
    assert!(converter.losses().is_empty(), "{}", converter.losses());
    assert_eq!(converter.stopped(), None);
    out.into_vec()
}

fn codec() -> impl Strategy<Value = CompressionType> {
    proptest::sample::select(&CODECS[..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn property_encode_then_decode_is_the_identity_in_every_format(records in records(), batch_bytes in 100..20_000_usize) {
        for format in [RecordFormat::V07, RecordFormat::V0, RecordFormat::V1, RecordFormat::V2] {
            let records = within(format, records.clone());
            for codec in CODECS.into_iter().filter(|codec| can_hold(format, *codec)) {
                let mut found = decode(&encode(&records, format, codec, batch_bytes), format);
                if format == RecordFormat::V07 {
                    // Its offsets are positions.
                    found.iter_mut().zip(&records).for_each(|(found, record)| found.0 = record.0);
                }
                if format < RecordFormat::V1 {
                    found.iter_mut().for_each(|found| found.1 = -1);
                }
                prop_assert_eq!(&found, &records, "{:?} {:?}", format, codec);
            }
        }
    }

    #[test]
    fn property_up_and_down_again_is_the_identity(records in records(), codec in codec(), batch_bytes in 100..20_000_usize) {
        for (old, new) in [(RecordFormat::V0, RecordFormat::V1), (RecordFormat::V0, RecordFormat::V2), (RecordFormat::V1, RecordFormat::V2)] {
            if can_hold(old, codec) {
                let input = encode(&within(old, records.clone()), old, codec, batch_bytes);
                let up = convert(&input, new, None);
                prop_assert_eq!(decode(&up, new), decode(&input, old), "{:?} to {:?}", old, new);
                prop_assert_eq!(decode(&convert(&up, old, None), old), decode(&input, old), "{:?} to {:?} and back", old, new);
            }
        }
    }

    #[test]
    fn property_down_and_up_again_is_the_identity_where_nothing_is_lost(records in records(), codec in codec(), batch_bytes in 100..20_000_usize) {
        let records = within(RecordFormat::V1, records);
        if can_hold(RecordFormat::V1, codec) {
            let input = encode(&records, RecordFormat::V2, codec, batch_bytes);
            let down = convert(&input, RecordFormat::V1, None);
            prop_assert_eq!(decode(&down, RecordFormat::V1), records.clone());
            prop_assert_eq!(decode(&convert(&down, RecordFormat::V2, None), RecordFormat::V2), records);
        }
    }

    #[test]
    fn property_untouched_entries_are_byte_identical(records in records(), codec in codec(), batch_bytes in 100..20_000_usize) {
        for format in [RecordFormat::V0, RecordFormat::V1, RecordFormat::V2] {
            if can_hold(format, codec) {
                let input = encode(&within(format, records.clone()), format, codec, batch_bytes);
                prop_assert_eq!(&convert(&input, format, None), &input);
                prop_assert_eq!(&convert(&input, format, Some(codec)), &input);
            }
        }
    }

    #[test]
    fn property_another_codec_and_back_is_byte_identical_in_magic_2(records in records(), codec in codec(), batch_bytes in 100..20_000_usize) {
        let input = encode(&records, RecordFormat::V2, CompressionType::None, batch_bytes);
        prop_assert_eq!(convert(&convert(&input, RecordFormat::V2, Some(codec)), RecordFormat::V2, Some(CompressionType::None)), input);
    }
}

/// Everything of `bytes` in another format: what was lost, and what ended it.
fn converted(bytes: &[u8], to: RecordFormat, compression: Option<CompressionType>, is_dry: bool) -> (String, Option<String>) {
    let options = ConvertOptions {
        decode: DecodeOptions { formats: Formats::Every, ..DecodeOptions::default() },
        to,
        compression,
        is_metadata_first: to == RecordFormat::V3,
        level: None,
        is_up_wanted: true,
        first_offset: None,
        batch_bytes: 1000,
    };
    let mut converter = Converter::new(Source::memory(Bytes::copy_from_slice(bytes)), options, false).unwrap();
    if is_dry {
        converter.run_dry();
    }
    let mut out = Sink::default();
    let ended = loop {
        match converter.advance(&mut out) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    assert!(!is_dry || out.is_empty(), "a dry run has written {} bytes", out.len());
    (converter.losses().to_string(), ended)
}

#[test]
fn a_dry_run_finds_what_a_real_one_finds() {
    // A refusal that names the losses behind the first one must not pass over a batch that cannot be converted.
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let (mut seen, mut refused) = (0, 0);
    for folder in ["data", "v3"] {
        for file in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|suffix| suffix != "log") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            for (to, compression) in [
                (RecordFormat::V3, None),
                (RecordFormat::V2, Some(CompressionType::Gzip)),
                (RecordFormat::V2, None),
                (RecordFormat::V1, None),
            ] {
                let real = converted(&bytes, to, compression, false);
                assert_eq!(converted(&bytes, to, compression, true), real, "{} to {to:?}", path.display());
                seen += 1;
                refused += usize::from(real.1.is_some());
            }
        }
    }
    assert!(seen > 400 && refused > 200, "{seen} conversions, {refused} refused");
}
