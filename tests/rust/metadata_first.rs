//! Records whose metadata stands before their payloads, and what is given of them when both do not fit together (S-H6).

use bytes::Bytes;
use logsegment::convert::{ConvertOptions, Converter};
use logsegment::decode::{CodecOptions, DecodeOptions, Decoder, parse_header, transactions::marker};
use logsegment::error::Result;
use logsegment::framing::{Frame, Source};
use logsegment::model::{BatchHeader, CompressionType, Formats, HeaderRef, RecordFormat, RecordRef, RecordSink};
use logsegment::quirks::Quirks;
use logsegment::validate::{Depth, Severity, Validator};
use logsegment::wire::Sink;
use logsegment::wire::checksum::crc32c;

use crate::batches;

const TRANSACTIONAL_CONTROL: i16 = 0x30;

/// One batch of these records, with the metadata first.
fn metadata_first(batch: Vec<u8>) -> Vec<u8> {
    compressed(batch, None)
}

fn compressed(batch: Vec<u8>, compression: Option<CompressionType>) -> Vec<u8> {
    let options = ConvertOptions {
        decode: DecodeOptions::default(),
        to: RecordFormat::V3,
        compression,
        is_metadata_first: true,
        level: None,
        is_up_wanted: true,
        first_offset: None,
        batch_bytes: 1 << 20,
    };
    let mut converter = Converter::new(Source::memory(batch.into()), options, false).unwrap();
    let mut out = Sink::default();
    while converter.advance(&mut out).unwrap() {}
    out.into_vec()
}

/// With a byte more behind the last payload, and the length and the checksum of that.
fn with_a_byte_more(mut batch: Vec<u8>) -> Vec<u8> {
    batch.push(0);
    let len = i32::try_from(batch.len() - 12).unwrap();
    batch[8..12].copy_from_slice(&len.to_be_bytes());
    sealed(batch)
}

fn sealed(mut batch: Vec<u8>) -> Vec<u8> {
    let crc = crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    batch
}

/// How many records were given.
struct Given(usize);

impl RecordSink for Given {
    fn header(&mut self, _: HeaderRef) {}
    fn record(&mut self, _: RecordRef) {
        self.0 += 1;
    }
}

/// How many records are given, and how it ends.
fn given(batch: &[u8], check_crc: bool) -> (usize, Result<()>) {
    let options = DecodeOptions { formats: Formats::Every, check_crc, ..DecodeOptions::default() };
    let (mut decoder, mut given) = (Decoder::new(options), Given(0));
    let opened = match decoder.open(Frame { position: 0, magic: 3, bytes: batch }) {
        Ok(opened) => opened.unwrap(),
        Err(error) => return (0, Err(error)),
    };
    let section = decoder.section(&opened, batch, batch);
    let mut walk = opened.walk;
    let ended = walk.advance(&section, usize::MAX, &mut given).and_then(|()| walk.finish(&section));
    (given.0, ended)
}

#[test]
fn s_h6_without_a_checksum_no_record_is_given_before_all_metadata_fits_together() {
    let whole = metadata_first(batches::sample(7, 20));
    for check_crc in [true, false] {
        assert_eq!(given(&whole, check_crc), (20, Ok(())));
    }
    let longer = with_a_byte_more(whole);
    let (count, ended) = given(&longer, false);
    assert_eq!((count, ended.unwrap_err().rule()), (0, "S-H6"));
    // With one it is the end that tells, and who reads takes back what was given (decision 0007).
    assert_eq!(given(&longer, true).1.unwrap_err().rule(), "S-H6");
}

#[test]
fn s_h6_a_marker_is_none_when_the_payloads_do_not_end_where_its_batch_does() {
    let commit = batches::record(0, Some(&[0, 0, 0, 1]), Some(&[0, 0, 0, 0, 0, 9]), &[]);
    let whole = metadata_first(batches::batch(5, 1, TRANSACTIONAL_CONTROL, &commit));
    let header = |bytes: &[u8]| -> BatchHeader { parse_header(Frame { position: 0, magic: 3, bytes }, Formats::Every, 0).unwrap() };
    assert_eq!(marker(&header(&whole), &whole).unwrap().unwrap().coordinator_epoch, 9);
    let longer = with_a_byte_more(whole);
    assert_eq!(marker(&header(&longer), &longer).unwrap_err().rule(), "S-H6");
}

#[test]
fn metadata_is_read_out_of_a_frame_whose_header_checksum_is_ignored() {
    let mut bytes = compressed(batches::sample(7, 20), Some(CompressionType::Lz4));
    let frame = bytes.windows(4).position(|four| four == b"\x04\x22\x4d\x18").unwrap();
    bytes[frame + 6] ^= 1;
    let bytes = Bytes::from(sealed(bytes));
    for depth in [Depth::Metadata, Depth::Full] {
        for ignores in [false, true] {
            let codecs = CodecOptions { quirks: if ignores { Quirks::ALL } else { Quirks::default() }, ..CodecOptions::default() };
            let decode = DecodeOptions { formats: Formats::Every, codecs, ..DecodeOptions::default() };
            let mut validator = Validator::new(Source::memory(bytes.clone()), decode, depth, false);
            while validator.advance().unwrap() {}
            let errors: Vec<_> =
                validator.take_findings().into_iter().filter(|found| found.severity == Severity::Error).map(|found| found.rule()).collect();
            assert_eq!(errors, if ignores { vec![] } else { vec!["COD-L8"] }, "{depth:?}");
        }
    }
}
