#![allow(unsafe_code, reason = "functions that the JVM calls, and memory that it owns; docs/project/unsafe.md")]
//! The functions of `NativeReader.java`. Panics end here; what crosses is a handle, an address, a length.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use crate::error::{Error, ErrorKind};
use crate::jvm::reader::{Next, TaskReader};

/// Numbers before those of the columns: address and length of a text (the error, or the warnings at the end), bytes read, bytes
/// decompressed, batches read, batches skipped, records.
const HEAD: usize = 7;
const END: i64 = -1;
const FAILED: i64 = -2;

/// The version of the library, to be compared with that of the jar: major, minor and patch of 20 bits each.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_github_logsegment_spark_NativeReader_version(_env: *mut c_void, _class: *mut c_void) -> i64 {
    let number = |text: &str| text.parse::<i64>().unwrap_or(0);
    (number(env!("CARGO_PKG_VERSION_MAJOR")) << 40)
        | (number(env!("CARGO_PKG_VERSION_MINOR")) << 20)
        | number(env!("CARGO_PKG_VERSION_PATCH"))
}

/// Open the task in `len` bytes at `data`. The handle must be closed once; 0 after a panic.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_github_logsegment_spark_NativeReader_open(
    _env: *mut c_void,
    _class: *mut c_void,
    data: i64,
    len: i64,
) -> i64 {
    let opened = catch_unwind(|| {
        // SAFETY: Java allocated `len` bytes at `data`, wrote all of them, and frees them after this call; nothing here keeps the slice.
        let data = unsafe { slice::from_raw_parts(pointer::<u8>(data), size(len)) };
        number(Box::into_raw(Box::new(TaskReader::new(data))).expose_provenance())
    });
    opened.unwrap_or(0)
}

/// Read the next batch. Returns its rows, END or FAILED, and writes the numbers of `HEAD` and of the columns to `len` longs at `out`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_github_logsegment_spark_NativeReader_next(
    _env: *mut c_void,
    _class: *mut c_void,
    handle: i64,
    out: i64,
    len: i64,
) -> i64 {
    // SAFETY: `handle` is what `open` returned and was not closed, and one thread of the task uses it. Java allocated `len` longs at `out`,
    // wrote all of them, and nobody else looks at them during this call.
    let (reader, out) =
        unsafe { (&mut *pointer::<TaskReader>(handle).cast_mut(), slice::from_raw_parts_mut(pointer::<i64>(out).cast_mut(), size(len))) };
    let rows = catch_unwind(AssertUnwindSafe(|| next(reader, out)));
    rows.unwrap_or_else(|_| {
        reader.fail(&Error::from(ErrorKind::Internal { what: "the reader of a Spark task panicked".into() }));
        tell(reader, out);
        FAILED
    })
}

/// Free a reader with all memory that it gave addresses of.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_github_logsegment_spark_NativeReader_close(_env: *mut c_void, _class: *mut c_void, handle: i64) {
    let _ = catch_unwind(|| {
        // SAFETY: `handle` is what `open` returned, Java closes it once and uses no address of it any more.
        drop(unsafe { Box::from_raw(pointer::<TaskReader>(handle).cast_mut()) });
    });
}

fn next(reader: &mut TaskReader, out: &mut [i64]) -> i64 {
    let next = reader.next();
    tell(reader, out);
    match next {
        Next::Rows(rows) => {
            let room = out.get_mut(HEAD..).filter(|room| room.len() == reader.addresses().len());
            let Some(room) = room else {
                reader.fail(&Error::from(ErrorKind::Internal { what: "the columns of a Spark task are not those that Java has".into() }));
                tell(reader, out);
                return FAILED;
            };
            room.copy_from_slice(reader.addresses());
            number(rows)
        }
        Next::End => END,
        Next::Failed => FAILED,
    }
}

fn tell(reader: &TaskReader, out: &mut [i64]) {
    let stats = reader.stats();
    let count = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let head = [
        number(reader.message().as_ptr().expose_provenance()),
        number(reader.message().len()),
        count(stats.bytes_read),
        count(stats.bytes_inflated),
        count(stats.entries_read),
        count(stats.entries_skipped),
        count(stats.records),
    ];
    if let Some(room) = out.get_mut(..HEAD) {
        room.copy_from_slice(&head);
    }
}

fn pointer<T>(address: i64) -> *const T {
    std::ptr::with_exposed_provenance(usize::try_from(address).unwrap_or(0))
}

fn size(len: i64) -> usize {
    usize::try_from(len).unwrap_or(0)
}

fn number(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(0)
}
