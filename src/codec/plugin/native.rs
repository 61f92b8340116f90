//! Plugins that are C functions: called without the interpreter, they write into the buffers of the built-in codecs.
#![expect(unsafe_code, reason = "the functions are C's")]

use std::any::Any;
use std::ffi::{c_char, c_void};

use crate::codec::output::Output;
use crate::error::{Error, ErrorKind, Result, escaped, plural};
use crate::wire::Sink;

/// The table of functions of a plugin (`logsegment_codec.h`). Results are lengths, or one of the negative numbers below.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CodecTable {
    /// 1; what follows it is this.
    version: u32,
    /// The plugin's own, handed to each function. Functions are called from any thread, and from several at a time.
    context: *mut c_void,
    /// Returns the most bytes that the stream in `from` decompresses to, or `TOO_SMALL` if it does not say. May be null.
    decompressed_len: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize) -> i64>,
    /// Decompresses `from` into `to`; may write the text of an error into `message`.
    decompress: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize, *mut c_char, usize) -> i64>,
    /// Returns the most bytes that so many bytes compress to.
    compressed_len: Option<unsafe extern "C" fn(*mut c_void, usize) -> i64>,
    /// Compresses `from` into `to`. The level is `NO_LEVEL` if the caller gave none.
    compress: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize, i32, *mut u8, usize, *mut c_char, usize) -> i64>,
}

/// The version of the table.
const VERSION: u32 = 1;
/// The result for a `to` that is too small, and for an unknown length.
const TOO_SMALL: i64 = -1;
/// The level that means none.
const NO_LEVEL: i32 = i32::MIN;
/// Bytes for the text of an error.
const MAX_MESSAGE_LEN: usize = 200;
/// Bytes of buffer that a stream of unknown length gets at first, and for each of its own.
const TRUSTED: usize = 64 << 10;
const TRUSTED_RATIO: usize = 8;

/// The functions of a plugin, all there, and the owner that keeps them alive.
pub struct NativeCodec {
    context: *mut c_void,
    decompressed_len: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize) -> i64>,
    decompress: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize, *mut c_char, usize) -> i64,
    compressed_len: unsafe extern "C" fn(*mut c_void, usize) -> i64,
    compress: unsafe extern "C" fn(*mut c_void, *const u8, usize, i32, *mut u8, usize, *mut c_char, usize) -> i64,
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the table's contract says that its functions may be called from any thread, and from several at a time; nothing else uses `context`.
unsafe impl Send for NativeCodec {}
// SAFETY: as above.
unsafe impl Sync for NativeCodec {}

impl NativeCodec {
    /// The plugin with this table, which `owner` keeps alive; a text when it is none that is understood here.
    ///
    /// # Safety
    /// `table` points to a `CodecTable` whose functions do what its fields say, write nothing but the room that they are given, and stay
    /// callable until `owner` is dropped.
    pub unsafe fn new(table: *const CodecTable, owner: Box<dyn Any + Send + Sync>) -> std::result::Result<Self, String> {
        // SAFETY: the caller says that it points to a table; the version is first in every version of it.
        let version = unsafe { (&raw const (*table).version).read() };
        if version != VERSION {
            return Err(format!("its table of C functions has version {version}, not {VERSION}"));
        }
        // SAFETY: a table of this version is one of these.
        let table = unsafe { table.read() };
        let (Some(decompress), Some(compressed_len), Some(compress)) = (table.decompress, table.compressed_len, table.compress) else {
            return Err("its table of C functions lacks decompress, compressed_len or compress".to_owned());
        };
        Ok(Self { context: table.context, decompressed_len: table.decompressed_len, decompress, compressed_len, compress, _owner: owner })
    }

    /// Decompresses the whole of `input`. Storage follows the claim of the plugin only as far as it is likely, and grows until it is enough.
    ///
    /// # Errors
    /// `Plugin`; `Limit` without memory.
    pub(in crate::codec) fn decompress(&self, input: &[u8], out: &mut Output<'_>, name: impl Fn() -> String) -> Result<()> {
        let likely = input.len().saturating_mul(TRUSTED_RATIO).max(TRUSTED);
        let claimed = usize::try_from(self.decompressed_len(input)).ok();
        let mut wanted = claimed.unwrap_or(likely).min(input.len().saturating_mul(MOST_TRUSTED_RATIO).max(TRUSTED));
        loop {
            let buffer = out.unfilled(wanted)?;
            // Not the whole buffer: the result for a corrupt stream must not depend on the entries before it.
            let given = buffer.len().min(wanted);
            let mut message = [0; MAX_MESSAGE_LEN];
            // SAFETY: both runs of bytes are slices with their lengths and do not overlap; the contract of `new`.
            let result = unsafe {
                (self.decompress)(
                    self.context,
                    input.as_ptr(),
                    input.len(),
                    buffer.as_mut_ptr(),
                    given,
                    message.as_mut_ptr(),
                    MAX_MESSAGE_LEN,
                )
            };
            match usize::try_from(result) {
                Ok(len) if len <= given => {
                    out.fill(len);
                    return Ok(());
                }
                Ok(len) => return Err(failed(name(), too_much(len, given))),
                Err(_) if result != TOO_SMALL => return Err(failed(name(), text_of(&message, result))),
                Err(_) if given >= out.left() => {
                    return Err(failed(name(), format!("its output is more than {}, the limit", plural(given, "byte"))));
                }
                Err(_) => wanted = given.saturating_mul(2).max(TRUSTED),
            }
        }
    }

    /// Compresses all of `input` and appends it to `out`.
    ///
    /// # Errors
    /// `Plugin`.
    pub(in crate::codec) fn compress(&self, input: &[u8], level: Option<i32>, out: &mut Sink, name: impl Fn() -> String) -> Result<()> {
        // SAFETY: the contract of `new`.
        let bound = unsafe { (self.compressed_len)(self.context, input.len()) };
        let bound = usize::try_from(bound).ok().filter(|bound| *bound <= input.len().saturating_mul(2).saturating_add(TRUSTED));
        let bound = bound.ok_or_else(|| failed(name(), format!("its compressed_len is invalid for {} bytes of input", input.len())))?;
        let output = out.unfilled(bound);
        let given = output.len();
        let mut message = [0; MAX_MESSAGE_LEN];
        let level = level.unwrap_or(NO_LEVEL);
        // SAFETY: as in `decompress`.
        let result = unsafe {
            (self.compress)(
                self.context,
                input.as_ptr(),
                input.len(),
                level,
                output.as_mut_ptr(),
                given,
                message.as_mut_ptr(),
                MAX_MESSAGE_LEN,
            )
        };
        match usize::try_from(result) {
            Ok(len) if len <= given => {
                out.fill(len);
                Ok(())
            }
            Ok(len) => Err(failed(name(), too_much(len, given))),
            Err(_) => Err(failed(name(), text_of(&message, result))),
        }
    }

    fn decompressed_len(&self, input: &[u8]) -> i64 {
        // SAFETY: the run of bytes is a slice with its length; the contract of `new`.
        self.decompressed_len.map_or(TOO_SMALL, |length| unsafe { length(self.context, input.as_ptr(), input.len()) })
    }
}

/// The claimed length of a stream is trusted up to this many bytes for each of its own; beyond that, storage grows as it is filled.
const MOST_TRUSTED_RATIO: usize = 64;

#[cold]
fn failed(plugin: String, problem: String) -> Error {
    ErrorKind::Plugin { plugin, problem }.into()
}

#[cold]
fn too_much(len: usize, given: usize) -> String {
    format!("it reported {} of output, of at most {given}", plural(len, "byte"))
}

/// The text up to its end mark.
#[cold]
fn text_of(message: &[c_char; MAX_MESSAGE_LEN], result: i64) -> String {
    let bytes: Vec<u8> = message.iter().take_while(|character| **character != 0).map(|character| character.to_ne_bytes()[0]).collect();
    let text = escaped(&String::from_utf8_lossy(&bytes));
    if text.is_empty() { format!("it returned error {result}") } else { text }
}
