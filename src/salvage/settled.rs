//! The log that intact entries make when they were found out of order: read again and written in the order of their offsets.

use std::collections::HashMap;
use std::ops::Range;

use super::account::Account;
use super::cut::Cutter;
use super::order::{Fit, Order, Place, Why, settle};
use super::salvager::Found;
use crate::error::Result;
use crate::framing::Source;
use crate::interrupt::Interrupt;
use crate::validate::{Finding, Misplaced};
use crate::wire::Sink;

/// A settled order of entries.
pub struct Settled {
    places: Vec<Place>,
    order: Order,
}

/// The same source three times: for what is moved, for what is left out, for the log.
pub struct Passes {
    /// Opened, and not read from yet.
    pub sources: [Source; 3],
    /// Asked between pieces.
    pub interrupt: Interrupt,
}

/// Takes bytes as they come.
pub type Take<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

impl Settled {
    /// Settles the order of what was found; its account and its findings tell what is left out from now on.
    pub fn new(found: &mut Found, fit: Fit) -> Self {
        let places = std::mem::take(&mut found.places);
        let order = settle(&places, fit);
        let mut account = Account::default();
        account.is_cut = found.account.is_cut;
        for place in order.entries.iter().filter_map(|(index, _)| places.get(*index)) {
            account.keep(place.bytes(), place.base_offset, place.last_offset);
        }
        account.lost = std::mem::take(&mut found.account.lost);
        account.lost_bytes = found.account.lost_bytes;
        for (place, why) in order.left_out.iter().filter_map(|(index, why)| Some((places.get(*index)?, *why))) {
            let what = if why == Why::Copy { Misplaced::Copy } else { Misplaced::Doubtful };
            let finding = Finding::of_misplaced(what, place.bytes(), place.base_offset, place.last_offset);
            account.lose_known(place.bytes(), finding.rule());
            found.findings.push(finding);
        }
        account.sort();
        found.account = account;
        Self { places, order }
    }

    /// Entries that are left out and are in the log under no other position.
    pub fn doubtful(&self) -> u64 {
        self.order.left_out.iter().map(|(_, why)| u64::from(*why == Why::Doubtful)).sum()
    }

    /// Writes the log, and the doubtful entries aside.
    ///
    /// # Errors
    /// `Io`, `Interrupted`, and what the takers fail with.
    pub fn write(&self, passes: Passes, out: Take<'_>, aside: Take<'_>) -> Result<()> {
        let Passes { sources: [for_moved, for_aside, for_log], interrupt } = passes;
        let moved = self.moved(Cutter::new(for_moved, interrupt.clone()))?;
        let mut cutter = Cutter::new(for_aside, interrupt.clone());
        for (index, _) in self.order.left_out.iter().filter(|(_, why)| *why == Why::Doubtful) {
            let Some(place) = self.places.get(*index) else { continue };
            cutter.cut(&place.bytes(), &mut *aside)?;
        }
        let mut cutter = Cutter::new(for_log, interrupt);
        for (bytes, is_moved) in self.pieces() {
            match moved.get(&bytes.start).filter(|_| is_moved) {
                Some(held) => out(held)?,
                None => cutter.cut(&bytes, &mut *out)?,
            }
        }
        Ok(())
    }

    /// Bytes of the entries that are moved, by position.
    fn moved(&self, mut cutter: Cutter) -> Result<HashMap<u64, Vec<u8>>> {
        let mut ranges: Vec<_> = self.pieces().filter(|(_, is_moved)| *is_moved).map(|(bytes, _)| bytes).collect();
        ranges.sort_unstable_by_key(|bytes| bytes.start);
        let mut held = HashMap::new();
        for range in ranges {
            let mut sink = Sink::default();
            cutter.cut(&range, |bytes| {
                sink.put(bytes);
                Ok(())
            })?;
            held.insert(range.start, sink.into_vec());
        }
        Ok(held)
    }

    /// Bytes of the log in its order, those together that are together in the input.
    fn pieces(&self) -> impl Iterator<Item = (Range<u64>, bool)> {
        let mut entries =
            self.order.entries.iter().filter_map(|(index, is_moved)| Some((self.places.get(*index)?.bytes(), *is_moved))).peekable();
        std::iter::from_fn(move || {
            let (mut bytes, is_moved) = entries.next()?;
            while let Some((next, _)) = entries.next_if(|(next, moved)| next.start == bytes.end && *moved == is_moved) {
                bytes.end = next.end;
            }
            Some((bytes, is_moved))
        })
    }
}
