//! What must hold of the library whatever the bytes are: each target holds some of it against what libFuzzer makes (docs/project/fuzzing.md).
//!
//! A property that does not hold is a panic, which is what the fuzzer looks for. Limits are small, so that an input takes microseconds. The Rust tests
//! include this module too, and go through `fuzz/corpus` and `tests/hostile/found` with it. Knows nothing of libFuzzer.

pub mod choices;
pub mod codecs;
pub mod converting;
pub mod damage;
pub mod fix_checksums;
pub mod identity;
pub mod inspecting;
pub mod internals;
pub mod looking_up;
pub mod plugins;
pub mod reading;
pub mod salvaging;
pub mod sidecars;
pub mod slicing;
pub mod tiles;
pub mod values;
pub mod writing;

use logsegment::codec::{Codec, HeaderChecksum};
use logsegment::model::{CompressionType, Formats, RecordFormat};

/// What holds the properties of a target against some bytes.
pub type Check = fn(&[u8]);

/// Every target, by the name of its program.
pub const TARGETS: [(&str, Check); 20] = [
    ("auto", |bytes| reading::check_in_place(bytes, &reading::options(Formats::Auto))),
    ("v07", |bytes| reading::check(bytes, &reading::options(Formats::Only(RecordFormat::V07)))),
    ("v0_v1", |bytes| {
        reading::check(bytes, &reading::options(Formats::Only(RecordFormat::V0)));
        reading::check(bytes, &reading::options(Formats::Only(RecordFormat::V1)));
    }),
    ("v2", |bytes| reading::check(bytes, &reading::options(Formats::Only(RecordFormat::V2)))),
    ("v3", |bytes| reading::check(bytes, &reading::options(Formats::Only(RecordFormat::V3)))),
    ("gzip", |bytes| codecs::check(bytes, CompressionType::Gzip, &[Codec::Gzip])),
    ("snappy", |bytes| codecs::check(bytes, CompressionType::Snappy, &[Codec::Snappy])),
    ("lz4", |bytes| codecs::check(bytes, CompressionType::Lz4, &LZ4)),
    ("zstd", |bytes| codecs::check(bytes, CompressionType::Zstd, &[Codec::Zstd])),
    ("plugin", plugins::check),
    ("framing", slicing::check),
    ("sidecar", sidecars::check),
    ("lookup", looking_up::check),
    ("convert", converting::check),
    ("identity", identity::check),
    ("damage", damage::check),
    ("salvage", salvaging::check),
    ("inspect", inspecting::check),
    ("internal", internals::check),
    ("values", values::check),
];

/// The header checksum as the specification has it, and any; around records and around messages.
const LZ4: [Codec; 2] = [
    Codec::Lz4(HeaderChecksum::Correct, logsegment::format::v2::records::claimed_len),
    Codec::Lz4(HeaderChecksum::Ignored, logsegment::format::v0_v1::parse::claimed_len),
];

/// The check of the target with this name.
///
/// # Panics
/// When there is none.
pub fn check_of(target: &str) -> Check {
    let found = TARGETS.iter().find(|(name, _)| *name == target);
    found.map(|(_, check)| *check).expect("a target of the table")
}
