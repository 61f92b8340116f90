//! Codecs that a caller brings: good ones give the records of uncompressed batches, and bad ones do no harm.
#![allow(unsafe_code, reason = "a plugin of C functions is made by hand")]

use std::ffi::{c_char, c_void};
use std::slice;
use std::sync::Arc;

use bytes::Bytes;
use logsegment::codec::{CodecTable, NativeCodec, PluginCodecs, Plugins};
use logsegment::columns::Column;
use logsegment::decode::DecodeOptions;
use logsegment::error::{ErrorKind, Result};
use logsegment::model::{Formats, RecordFormat};
use logsegment::wire::Sink;

use super::fix_checksums::seal;
use super::reading::{self, Asked, are_same, options, read};

/// Plugins by what they do with a stream: ids below `NATIVE` are called as Python's are, the others as C functions.
const SAME: u8 = 0;
const FAILS: u8 = 1;
const TOO_MUCH: u8 = 2;
const HALF: u8 = 3;
const NATIVE: u8 = 4;
const NATIVE_GROWS: u8 = 5;
const NATIVE_LIES: u8 = 6;
const NATIVE_HALF: u8 = 7;

/// Bytes as batches of magic 2, uncompressed and with plugins.
pub fn check(bytes: &[u8]) {
    let plugged = plugged();
    reading::check(bytes, &plugged);
    let columns = Asked::of(&[Column::Offset, Column::TimestampMs, Column::Key, Column::Value, Column::HeadersRaw]);
    let uncompressed = with_codec(bytes, 0);
    let expected = read(&uncompressed, &plugged, &columns);
    for id in [SAME, NATIVE, NATIVE_GROWS] {
        let found = read(&with_codec(bytes, plugin(id)), &plugged, &columns);
        if expected.error.is_none() {
            assert!(found.error.is_none(), "plugin {id}: {:?}", found.error);
            assert!(are_same(&found.batches, &expected.batches), "plugin {id} gives other records");
        }
    }
    for id in [FAILS, TOO_MUCH, HALF, NATIVE_LIES, NATIVE_HALF, 15] {
        reading::check(&with_codec(bytes, plugin(id)), &plugged);
    }
}

fn plugged() -> DecodeOptions {
    let mut options = options(Formats::Only(RecordFormat::V2));
    options.codecs.plugins = Plugins::new(Arc::new(Toys::new()));
    options
}

/// The attribute bits of the plugin with this id (S-P1).
fn plugin(id: u8) -> u16 {
    u16::from(id) << 8 | 5
}

/// The same batches, marked as compressed by another codec.
fn with_codec(bytes: &[u8], codec: u16) -> Vec<u8> {
    const HEADER: usize = 61;
    const BITS: u16 = 0x0f07;
    let mut bytes = bytes.to_vec();
    let mut rest = &mut *bytes;
    while rest.len() >= HEADER && rest[16] == 2 {
        let len = 12 + u32::from_be_bytes([rest[8], rest[9], rest[10], rest[11]]) as usize;
        if len > rest.len() || len < HEADER {
            break;
        }
        let (entry, behind) = rest.split_at_mut(len);
        let attributes = u16::from_be_bytes([entry[21], entry[22]]) & !BITS | codec;
        entry[21..23].copy_from_slice(&attributes.to_be_bytes());
        seal(entry);
        rest = behind;
    }
    bytes
}

struct Toys([NativeCodec; 4]);

impl Toys {
    fn new() -> Self {
        Self([(NATIVE, true), (NATIVE_GROWS, false), (NATIVE_LIES, true), (NATIVE_HALF, true)].map(|(id, tells_len)| {
            let table = Table {
                version: 1,
                context: std::ptr::without_provenance_mut(usize::from(id)),
                decompressed_len: tells_len.then_some(native_len),
                decompress: Some(native_decompress),
                compressed_len: Some(native_compressed_len),
                compress: Some(native_compress),
            };
            // SAFETY: the table has the layout of `CodecTable`, and the functions are this program's.
            unsafe { NativeCodec::new((&raw const table).cast::<CodecTable>(), Box::new(())) }.expect("a whole table")
        }))
    }
}

impl PluginCodecs for Toys {
    fn alias(&self, id: u8) -> Option<String> {
        (id <= NATIVE_HALF).then(|| format!("toy-{id}"))
    }

    fn find(&self, _: &str) -> Result<Option<u8>> {
        Ok(None)
    }

    fn ensure(&self, id: u8) -> Result<()> {
        if id <= NATIVE_HALF { Ok(()) } else { Err(ErrorKind::UnknownPlugin { id, wanted: None }.into()) }
    }

    fn native(&self, id: u8) -> Result<Option<&NativeCodec>> {
        self.ensure(id)?;
        Ok(id.checked_sub(NATIVE).and_then(|at| self.0.get(usize::from(at))))
    }

    fn decompress(&self, id: u8, compressed: Bytes, most: usize, given: &mut Bytes) -> Result<()> {
        *given = match id {
            FAILS => return Err(ErrorKind::Plugin { plugin: self.describe(id), problem: "it always does".to_owned() }.into()),
            TOO_MUCH => Bytes::from(vec![0; most + 1]),
            HALF => compressed.slice(..compressed.len() / 2),
            _ => compressed,
        };
        Ok(())
    }

    fn compress(&self, _: u8, input: &mut Sink, _: Option<i32>, out: &mut Sink) -> Result<()> {
        out.put(input.bytes());
        Ok(())
    }

    fn describe(&self, id: u8) -> String {
        format!("toy {id}")
    }
}

/// The table of `logsegment_codec.h`.
#[repr(C)]
struct Table {
    version: u32,
    context: *mut c_void,
    decompressed_len: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize) -> i64>,
    decompress: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize, *mut c_char, usize) -> i64>,
    compressed_len: Option<unsafe extern "C" fn(*mut c_void, usize) -> i64>,
    compress: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize, i32, *mut u8, usize, *mut c_char, usize) -> i64>,
}

unsafe extern "C" fn native_len(context: *mut c_void, _: *const u8, len: usize) -> i64 {
    let id = context.addr() as u8;
    if id == NATIVE_LIES { i64::MAX } else { len as i64 }
}

unsafe extern "C" fn native_decompress(
    context: *mut c_void,
    from: *const u8,
    len: usize,
    to: *mut u8,
    room: usize,
    _: *mut c_char,
    _: usize,
) -> i64 {
    let id = context.addr() as u8;
    let given = if id == NATIVE_HALF { len / 2 } else { len };
    if id == NATIVE_GROWS && room < 4 * given || given > room {
        return -1;
    }
    if given > 0 {
        // SAFETY: the contract of the table: `from` has `len` bytes, `to` has `room`, and they do not overlap.
        unsafe { slice::from_raw_parts_mut(to, given).copy_from_slice(slice::from_raw_parts(from, given)) };
    }
    if id == NATIVE_LIES { room as i64 + 1 } else { given as i64 }
}

unsafe extern "C" fn native_compressed_len(_: *mut c_void, len: usize) -> i64 {
    len as i64
}

unsafe extern "C" fn native_compress(
    _: *mut c_void,
    from: *const u8,
    len: usize,
    _: i32,
    to: *mut u8,
    room: usize,
    _: *mut c_char,
    _: usize,
) -> i64 {
    if len > room {
        return -1;
    }
    // SAFETY: as in `native_decompress`.
    unsafe { slice::from_raw_parts_mut(to, len).copy_from_slice(slice::from_raw_parts(from, len)) };
    len as i64
}
