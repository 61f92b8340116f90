//! What a run of entries became, without a copy of the stretches that stay.

use std::ops::Range;

use bytes::Bytes;

use crate::wire::Sink;

/// New bytes, and stretches of the run between them that stay byte for byte.
#[derive(Debug, Default)]
pub struct RunOutput {
    run: Bytes,
    new: Sink,
    /// A stretch of the run, and how many new bytes come before it.
    kept: Vec<(usize, Range<usize>)>,
    /// The stretch at the end, which may still grow.
    open: Range<usize>,
    kept_len: usize,
}

/// Shorter stretches are copied: a write for each of them would cost more.
const SHORT: usize = 32 << 10;

impl RunOutput {
    /// Forgets everything, keeps the storage, and starts with another run.
    pub(super) fn enter(&mut self, run: Bytes) {
        self.run = run;
        self.new.clear();
        self.kept.clear();
        (self.open, self.kept_len) = (0..0, 0);
    }

    /// Forgets everything, and keeps the storage of new bytes.
    pub fn clear(&mut self) {
        self.enter(Bytes::new());
    }

    /// These bytes of the run stay.
    pub(super) fn keep(&mut self, bytes: Range<usize>) {
        if bytes.start == self.open.end {
            self.open.end = bytes.end;
        } else {
            self.close();
            self.open = bytes;
        }
    }

    /// Where new bytes go.
    pub(super) fn sink(&mut self) -> &mut Sink {
        self.close();
        &mut self.new
    }

    /// Ends the stretch that stays.
    pub(super) fn close(&mut self) {
        let bytes = std::mem::take(&mut self.open);
        if bytes.len() < SHORT {
            self.new.put(self.run.get(bytes).unwrap_or_default());
        } else {
            self.kept_len += bytes.len();
            self.kept.push((self.new.len(), bytes));
        }
    }

    /// Bytes of the output.
    pub fn len(&self) -> usize {
        self.new.len() + self.kept_len + self.open.len()
    }

    /// True without bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when the output is the first `len` bytes of the run.
    pub fn is_run(&self, len: usize) -> bool {
        self.new.is_empty() && matches!(self.kept.as_slice(), [(_, bytes)] if *bytes == (0..len))
    }

    /// The bytes in their order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let new = self.new.bytes();
        let last = self.kept.last().map_or(0, |(before, _)| *before);
        let starts = std::iter::once(0).chain(self.kept.iter().map(|(before, _)| *before));
        let parts = starts.zip(&self.kept).flat_map(move |(start, (end, bytes))| [new.get(start..*end), self.run.get(bytes.clone())]);
        parts.chain(std::iter::once(new.get(last..))).flatten().filter(|part| !part.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_bytes_and_stretches_come_in_their_order() {
        let run: Vec<u8> = (0..4 * SHORT).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let mut output = RunOutput::default();
        output.enter(run.clone().into());
        output.keep(0..SHORT);
        output.keep(SHORT..SHORT + 1);
        output.sink().put(b"new");
        output.keep(2 * SHORT..2 * SHORT + 5);
        output.sink().put(b"and");
        output.keep(2 * SHORT + 9..4 * SHORT);
        let len = output.len();
        output.close();
        let expected = [&run[..=SHORT], b"new", &run[2 * SHORT..2 * SHORT + 5], b"and", &run[2 * SHORT + 9..]].concat();
        assert_eq!(output.parts().collect::<Vec<_>>().concat(), expected);
        assert_eq!((len, output.len()), (expected.len(), expected.len()));
        assert_eq!(output.parts().count(), 3);
        assert!(!output.is_run(4 * SHORT));
    }

    #[test]
    fn a_run_that_stays_is_one_stretch() {
        let run = Bytes::from(vec![7; 2 * SHORT]);
        let mut output = RunOutput::default();
        output.enter(run.clone());
        output.keep(0..SHORT);
        output.keep(SHORT..2 * SHORT);
        output.close();
        assert!(output.is_run(2 * SHORT) && !output.is_run(SHORT));
        assert_eq!(output.parts().collect::<Vec<_>>(), [&run[..]]);
        output.enter(run);
        assert!(output.is_empty() && output.parts().next().is_none());
    }
}
