//! The programs of `targets`: libFuzzer on the one side, a property of the library on the other.

pub mod properties;

/// The program of the target with this name.
#[macro_export]
macro_rules! plain {
    ($target:literal) => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::properties::check_of($target)(bytes));
    };
}

/// The same; of three inputs that libFuzzer changes, one stays as it is, one gets its checksums put right, one its lengths too.
#[macro_export]
macro_rules! mended {
    ($target:literal) => {
        $crate::plain!($target);

        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            let size = libfuzzer_sys::fuzzer_mutate(data, size, max_size);
            if let (Some(bytes), Some(mend), 1..) = (data.get_mut(..size), $crate::properties::fix_checksums::mend_of($target), seed % 3) {
                mend(bytes, seed % 3 == 1);
            }
            size
        });
    };
}
