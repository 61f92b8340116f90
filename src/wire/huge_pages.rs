//! Large pages for large storage: fresh memory costs a fault a page, and faults cost more than the copy that meets them.

/// Pages of this size are asked for; smaller storage has too few of them.
const PAGE: usize = 2 << 20;
const LEAST: usize = 2 * PAGE;

/// Asks the system to back storage that was not touched yet with large pages, where it is large. A system that does not know them, or is
/// configured without them ignores the advice.
pub fn advise<T: Copy>(storage: &mut [T]) {
    const { assert!(size_of::<T>() == 1) };
    if storage.len() < LEAST {
        return;
    }
    let before = storage.as_ptr().align_offset(PAGE);
    let Some(aligned) = storage.get_mut(before..) else { return };
    let len = aligned.len() / PAGE * PAGE;
    if let Some(pages) = aligned.get_mut(..len) {
        ask(pages);
    }
}

/// Zeros, of which no page is touched where there are many.
pub fn zeroed(len: usize) -> Vec<u8> {
    let mut storage = vec![0; len];
    advise(&mut storage);
    storage
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "madvise is a C function")]
fn ask<T>(pages: &mut [T]) {
    use std::ffi::{c_int, c_void};
    const MADV_HUGEPAGE: c_int = 14;
    unsafe extern "C" {
        fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int;
    }
    // SAFETY: the range is a borrowed slice, so it is mapped and ours; this advice changes no byte of it, and failing is harmless.
    let _ = unsafe { madvise(pages.as_mut_ptr().cast(), pages.len(), MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask<T>(_: &mut [T]) {}

#[cfg(test)]
mod tests {
    #[test]
    fn advice_changes_nothing_that_is_written_later() {
        for len in [0, 100, super::LEAST - 1, super::LEAST, 9 << 20] {
            let mut storage: Vec<u8> = Vec::with_capacity(len);
            super::advise(storage.spare_capacity_mut());
            storage.resize(len, 7);
            assert!(storage.iter().all(|byte| *byte == 7), "{len}");
            assert_eq!(super::zeroed(len), vec![0; len]);
        }
    }
}
