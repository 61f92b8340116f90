//! Any bytes give a tree of fields that covers them, from wherever it is asked for.

use bytes::Bytes;
use logsegment::framing::Source;
use logsegment::inspect::{InspectOptions, inspect, skip, take};
use logsegment::validate::Depth;

use super::choices::Choices;
use super::reading::options;
use super::tiles::ensure_tiled;

/// Four bytes of choices, then the input.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let options = options(choices.formats());
    let depth = choices.one_of([Depth::Full, Depth::Metadata, Depth::Headers]);
    let at = choices.u16();
    let input = choices.0;
    for at in [0, u64::from(at) % (input.len() as u64).max(1)] {
        let mut source = Source::memory(Bytes::copy_from_slice(input));
        if skip(&mut source, at).is_err() {
            continue;
        }
        let Ok(stretch) = take(&mut source, &options) else {
            assert!(input.is_empty(), "nothing is shown at {at} of {}", input.len());
            continue;
        };
        match inspect(&stretch, &options, &InspectOptions { depth, records: 5 }) {
            Ok(inspection) => ensure_tiled(&inspection),
            // Without plugins there is nothing that fails for another reason than the bytes, which are told in the tree.
            Err(error) => panic!("nothing is shown at {at} of {}: {error}", input.len()),
        }
    }
}
