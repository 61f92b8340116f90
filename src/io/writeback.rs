//! Starts to write a file to the disk while more of it comes: the wait for the rest at the end is short then.

use std::fs::File;

/// Bytes that the system may keep before it is asked to write them.
const STEP: u64 = 8 << 20;

/// How far a file was handed to the disk.
#[derive(Debug, Default)]
pub struct Writeback {
    len: u64,
    begun: u64,
}

impl Writeback {
    /// Counts bytes that were written at the end of the file, and asks the system to write them to the disk where it is worth it. That does
    /// not wait for the disk, and promises nothing: whoever needs the bytes to be safe still has to sync the file.
    pub fn add(&mut self, file: &File, bytes: u64) {
        self.len = self.len.saturating_add(bytes);
        if self.len - self.begun >= STEP {
            begin(file, self.begun, self.len - self.begun);
            self.begun = self.len;
        }
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "sync_file_range is a C function")]
fn begin(file: &File, from: u64, len: u64) {
    use std::ffi::{c_int, c_uint};
    use std::os::fd::AsRawFd;
    const SYNC_FILE_RANGE_WRITE: c_uint = 2;
    unsafe extern "C" {
        fn sync_file_range(fd: c_int, offset: i64, bytes: i64, flags: c_uint) -> c_int;
    }
    let (Ok(from), Ok(len)) = (i64::try_from(from), i64::try_from(len)) else { return };
    // SAFETY: the call takes numbers alone; the descriptor is open for as long as the file is borrowed, and failing is harmless.
    let _ = unsafe { sync_file_range(file.as_raw_fd(), from, len, SYNC_FILE_RANGE_WRITE) };
}

#[cfg(not(target_os = "linux"))]
fn begin(_: &File, _: u64, _: u64) {}
