//! Whatever the indexes say, a look-up in a good log finds what a walk over all its headers finds.

use logsegment::framing::Ending;
use logsegment::interrupt::Interrupt;
use logsegment::limits::Limits;
use logsegment::log::{IndexCheck, Lookup, SidecarRebuild};
use logsegment::model::RecordFormat;
use logsegment::sidecar::{offset_index, time_index};

use super::choices::Choices;
use super::writing::Written;

/// An offset and a timestamp that are looked for, a run that is the offset index, one that is the time index; the rest chooses a log.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let (offset, timestamp) = (i64::from(choices.u16()), i64::from(choices.u32()));
    let (index, times) = (choices.run(usize::MAX).unwrap_or_default(), choices.run(usize::MAX).unwrap_or_default());
    let mut written = Written::choose(&mut choices);
    if written.format == RecordFormat::V07 {
        return;
    }
    written.records.sort_by_key(|record| record.offset);
    let log = written.encode();
    let (offsets, times) = (offset_index::parse(index, 0), time_index::parse(times, 0));
    let whole = Lookup { log: &&*log, len: log.len() as u64, limits: Limits::default(), offsets: &[], ending: Ending::Open };
    let hinted = Lookup { offsets: &offsets.entries, ..whole };
    let of = |lookup: &Lookup<'_>| {
        let (by_offset, by_time) = (lookup.offset(offset).expect("a good log"), lookup.timestamp(timestamp).expect("a good log"));
        (by_offset.header, by_offset.position, by_time.header, by_time.position)
    };
    assert_eq!(of(&hinted), of(&whole), "an index changed what is found");
    hinted.near_end().expect("a good log");
    IndexCheck::new(&offsets.entries, &times.entries).finish(log.len() as u64);
    let rebuilt = SidecarRebuild::new(Some(1)).segment(&&*log, log.len() as u64, 0, &Interrupt::default()).expect("a good log");
    let made = Lookup { offsets: &rebuilt.offset_index, ..whole };
    assert_eq!(of(&made), of(&whole), "indexes made anew changed what is found");
}
