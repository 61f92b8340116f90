//! The log that valid entries make when they were found out of order: read again and written in the order of their offsets.

use std::collections::{HashMap, HashSet};

use super::account::{SalvageAccount, bound_lost_offsets};
use super::cut::{RangeCopier, changed};
use super::order::{EntryOrder, Why, order_entries};
use super::place::EntryPosition;
use super::salvager::{SalvageOptions, Salvaged};
use crate::decode::{ChecksumVerifier, DecodeOptions, parse_header};
use crate::error::Result;
use crate::framing::{Frame, Source, Step, Verifier, step};
use crate::interrupt::Interrupt;
use crate::validate::{Finding, Misplaced};
use crate::wire::Sink;

/// A settled order of entries.
pub struct OrderedLog {
    places: Vec<EntryPosition>,
    order: EntryOrder,
    decode: DecodeOptions,
    verifier: ChecksumVerifier,
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

impl OrderedLog {
    /// Fixes the order of the entries; the account and the findings then list the dropped ones.
    pub fn new(found: &mut Salvaged, options: &SalvageOptions) -> Self {
        let places = std::mem::take(&mut found.places);
        let order = order_entries(&places, options.fit, &found.runs);
        let mut account = SalvageAccount::default();
        for place in order.entries.iter().filter_map(|(index, _)| places.get(*index)) {
            account.keep(place.bytes(), place.base_offset, place.last_offset);
        }
        account.lose_as(&mut found.account);
        for (place, why) in order.left_out.iter().filter_map(|(index, why)| Some((places.get(*index)?, *why))) {
            let what = if why == Why::Copy { Misplaced::Copy } else { Misplaced::UnfitOffsets };
            let finding = Finding::of_misplaced(what, place.bytes(), place.base_offset, place.last_offset);
            account.lose_known(place.bytes(), finding.rule());
            found.findings.push(finding);
        }
        let left_out: HashSet<u64> =
            order.left_out.iter().filter_map(|(index, _)| places.get(*index)).map(|place| place.position).collect();
        found.undecodable.retain(|finding| !left_out.contains(&finding.position));
        account.sort();
        bound_lost_offsets(&mut account);
        found.account = account;
        let decode = DecodeOptions { check_crc: true, ..options.decode.clone() };
        let verifier = ChecksumVerifier::of(&decode);
        Self { places, order, decode, verifier }
    }

    /// Entries that are left out and are in the log under no other position.
    pub fn unfit(&self) -> u64 {
        self.order.left_out.iter().map(|(_, why)| u64::from(*why == Why::UnfitOffsets)).sum()
    }

    /// Entries that are elsewhere in the input.
    pub fn moved(&self) -> u64 {
        self.order.entries.iter().map(|(_, is_moved)| u64::from(*is_moved)).sum()
    }

    /// Writes the log, and the doubtful entries aside.
    ///
    /// # Errors
    /// `Io`, also when the source is not what it was when it was read first, `Interrupted`, and what the takers fail with.
    pub fn write(&self, passes: Passes, out: Take<'_>, aside: Take<'_>) -> Result<()> {
        let Passes { sources: [for_moved, for_aside, for_log], interrupt } = passes;
        let moved = self.moved_entries(RangeCopier::new(for_moved, interrupt.clone()))?;
        let mut copier = RangeCopier::new(for_aside, interrupt.clone());
        let mut entry = Sink::default();
        for (index, _) in self.order.left_out.iter().filter(|(_, why)| *why == Why::UnfitOffsets) {
            let Some(place) = self.places.get(*index) else { continue };
            self.take(place, &mut copier, &mut entry)?;
            aside(entry.bytes())?;
        }
        let mut copier = RangeCopier::new(for_log, interrupt);
        for (place, is_moved) in self.entries() {
            match moved.get(&place.position).filter(|_| is_moved) {
                Some(held) => out(held)?,
                None => {
                    self.take(place, &mut copier, &mut entry)?;
                    out(entry.bytes())?;
                }
            }
        }
        Ok(())
    }

    /// Bytes of the entries that are moved, by position.
    fn moved_entries(&self, mut copier: RangeCopier) -> Result<HashMap<u64, Vec<u8>>> {
        let mut places: Vec<_> = self.entries().filter(|(_, is_moved)| *is_moved).map(|(place, _)| place).collect();
        places.sort_unstable_by_key(|place| place.position);
        let mut held = HashMap::new();
        for place in places {
            let mut entry = Sink::default();
            self.take(place, &mut copier, &mut entry)?;
            held.insert(place.position, entry.into_vec());
        }
        Ok(held)
    }

    /// The entries of the log in its order, and whether each is elsewhere in the input.
    fn entries(&self) -> impl Iterator<Item = (&EntryPosition, bool)> {
        self.order.entries.iter().filter_map(|(index, is_moved)| Some((self.places.get(*index)?, *is_moved)))
    }

    /// Takes the bytes of an entry, which is still what it was when it was read first.
    fn take(&self, place: &EntryPosition, copier: &mut RangeCopier, entry: &mut Sink) -> Result<()> {
        entry.clear();
        copier.cut(&place.bytes(), |bytes| {
            entry.put(bytes);
            Ok(())
        })?;
        if self.is_same(place, entry.bytes()) { Ok(()) } else { Err(changed()) }
    }

    fn is_same(&self, place: &EntryPosition, bytes: &[u8]) -> bool {
        let Step::Entry { len, magic } = step(bytes, self.decode.formats, &self.decode.limits) else { return false };
        let frame = Frame { position: place.position, magic, bytes };
        len == bytes.len()
            && self.verifier.damage_of(bytes, magic).is_none()
            && parse_header(frame, self.decode.formats, self.decode.base_position).is_ok_and(|header| EntryPosition::of(&header) == *place)
    }
}
