//! Plugins that are C functions: called without the interpreter, and they write where the built-in codecs do.
#![expect(unsafe_code, reason = "the functions are C's")]

use std::any::Any;
use std::ffi::{c_char, c_void};

use crate::codec::output::Output;
use crate::error::{Error, ErrorKind, Result, escaped, plural};
use crate::wire::Sink;

/// The table of functions that a plugin gives (`logsegment_codec.h`). Results are lengths, or one of the negative numbers below.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CodecTable {
    /// 1; what follows it is this.
    version: u32,
    /// The plugin's own, handed to each function. Functions are called from any thread, and from several at a time.
    context: *mut c_void,
    /// Bytes that the packed stream in `from` unpacks to, at most; `UNKNOWN` where the stream does not say it. May be null.
    unpacked_len: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize) -> i64>,
    /// Unpacks `from` to `to`, which has so many bytes; `fault` has room for a text.
    unpack: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize, *mut c_char, usize) -> i64>,
    /// Bytes that so many plain bytes are packed to, at most.
    packed_len: Option<unsafe extern "C" fn(*mut c_void, usize) -> i64>,
    /// Packs `from` to `to`. The level is `NO_LEVEL` when the caller gave none.
    pack: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize, i32, *mut u8, usize, *mut c_char, usize) -> i64>,
}

/// The version of the table.
const VERSION: u32 = 1;
/// A result that says that `to` is too small, or that a length is not known.
const TOO_SMALL: i64 = -1;
/// The level that means none.
const NO_LEVEL: i32 = i32::MIN;
/// Room for a text about a fault.
const FAULT: usize = 200;
/// Bytes that a stream of unknown length gets at first, and for each of its own.
const TRUSTED: usize = 64 << 10;
const TRUSTED_RATIO: usize = 8;

/// A plugin's functions, all there, and what keeps them alive.
pub struct NativeCodec {
    context: *mut c_void,
    unpacked_len: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize) -> i64>,
    unpack: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize, *mut c_char, usize) -> i64,
    packed_len: unsafe extern "C" fn(*mut c_void, usize) -> i64,
    pack: unsafe extern "C" fn(*mut c_void, *const u8, usize, i32, *mut u8, usize, *mut c_char, usize) -> i64,
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
        // SAFETY: the caller says that it points to a table; the version stands first in every version of it.
        let version = unsafe { (&raw const (*table).version).read() };
        if version != VERSION {
            return Err(format!("its table of C functions has version {version}, not {VERSION}"));
        }
        // SAFETY: a table of this version is one of these.
        let table = unsafe { table.read() };
        let (Some(unpack), Some(packed_len), Some(pack)) = (table.unpack, table.packed_len, table.pack) else {
            return Err("its table of C functions lacks unpack, packed_len or pack".to_owned());
        };
        Ok(Self { context: table.context, unpacked_len: table.unpacked_len, unpack, packed_len, pack, _owner: owner })
    }

    /// Unpacks the whole of `packed`. Storage follows what the plugin says it needs only as far as it is likely, and grows until it is enough.
    ///
    /// # Errors
    /// `Plugin`; `Limit` without memory.
    pub(in crate::codec) fn unpack(&self, packed: &[u8], out: &mut Output<'_>, name: impl Fn() -> String) -> Result<()> {
        let likely = packed.len().saturating_mul(TRUSTED_RATIO).max(TRUSTED);
        let claimed = usize::try_from(self.unpacked_len(packed)).ok();
        let mut wanted = claimed.unwrap_or(likely).min(packed.len().saturating_mul(MOST_TRUSTED_RATIO).max(TRUSTED));
        loop {
            let room = out.room(wanted)?;
            // Not all the room there may be: what a bad stream gives must not depend on what was unpacked before it.
            let given = room.len().min(wanted);
            let mut fault = [0; FAULT];
            // SAFETY: both runs of bytes are slices with their lengths and do not overlap; the contract of `new`.
            let result =
                unsafe { (self.unpack)(self.context, packed.as_ptr(), packed.len(), room.as_mut_ptr(), given, fault.as_mut_ptr(), FAULT) };
            match usize::try_from(result) {
                Ok(len) if len <= given => {
                    out.fill(len);
                    return Ok(());
                }
                Ok(len) => return Err(failed(name(), too_much(len, given))),
                Err(_) if result != TOO_SMALL => return Err(failed(name(), text_of(&fault, result))),
                Err(_) if given >= out.left() => {
                    return Err(failed(
                        name(),
                        format!("it unpacks to more than {}, the most that the limits allow", plural(given, "byte")),
                    ));
                }
                Err(_) => wanted = given.saturating_mul(2).max(TRUSTED),
            }
        }
    }

    /// Packs all of `plain` and writes it behind what `out` holds.
    ///
    /// # Errors
    /// `Plugin`.
    pub(in crate::codec) fn pack(&self, plain: &[u8], level: Option<i32>, out: &mut Sink, name: impl Fn() -> String) -> Result<()> {
        // SAFETY: the contract of `new`.
        let bound = unsafe { (self.packed_len)(self.context, plain.len()) };
        let bound = usize::try_from(bound).ok().filter(|bound| *bound <= plain.len().saturating_mul(2).saturating_add(TRUSTED));
        let bound = bound.ok_or_else(|| failed(name(), format!("it cannot tell how long {} packed bytes may be", plain.len())))?;
        let room = out.room(bound);
        let given = room.len();
        let mut fault = [0; FAULT];
        let level = level.unwrap_or(NO_LEVEL);
        // SAFETY: as in `unpack`.
        let result =
            unsafe { (self.pack)(self.context, plain.as_ptr(), plain.len(), level, room.as_mut_ptr(), given, fault.as_mut_ptr(), FAULT) };
        match usize::try_from(result) {
            Ok(len) if len <= given => {
                out.fill(len);
                Ok(())
            }
            Ok(len) => Err(failed(name(), too_much(len, given))),
            Err(_) => Err(failed(name(), text_of(&fault, result))),
        }
    }

    fn unpacked_len(&self, packed: &[u8]) -> i64 {
        // SAFETY: the run of bytes is a slice with its length; the contract of `new`.
        self.unpacked_len.map_or(TOO_SMALL, |length| unsafe { length(self.context, packed.as_ptr(), packed.len()) })
    }
}

/// A length that a stream claims is believed up to this many bytes for each of its own; beyond, storage grows as it is filled.
const MOST_TRUSTED_RATIO: usize = 64;

#[cold]
fn failed(plugin: String, fault: String) -> Error {
    ErrorKind::Plugin { plugin, problem: fault }.into()
}

#[cold]
fn too_much(len: usize, room: usize) -> String {
    format!("it says that it wrote {} where there is room for {room}", plural(len, "byte"))
}

/// The text up to its end mark.
#[cold]
fn text_of(fault: &[c_char; FAULT], result: i64) -> String {
    let bytes: Vec<u8> = fault.iter().take_while(|one| **one != 0).map(|one| one.to_ne_bytes()[0]).collect();
    let text = escaped(&String::from_utf8_lossy(&bytes));
    if text.is_empty() { format!("it failed with {result}") } else { text }
}
