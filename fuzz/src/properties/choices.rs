//! What the bytes of an input choose: numbers and runs of bytes off the front, zeros when there are none left.

use logsegment::model::{Formats, RecordFormat};

/// Bytes that are taken off one by one.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a>(pub &'a [u8]);

impl<'a> Choices<'a> {
    /// True when all that comes is zeros.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.number::<1>() as u8
    }

    pub fn u16(&mut self) -> u16 {
        self.number::<2>() as u16
    }

    pub fn u32(&mut self) -> u32 {
        self.number::<4>() as u32
    }

    /// One of some.
    pub fn one_of<T: Copy, const N: usize>(&mut self, of: [T; N]) -> T {
        of[usize::from(self.byte()) % N]
    }

    /// Up to `most` bytes, or none at all.
    pub fn run(&mut self, most: usize) -> Option<&'a [u8]> {
        let len = match self.byte() {
            255 => return None,
            254 => usize::from(self.u16()),
            len => usize::from(len),
        };
        let (run, rest) = self.0.split_at(len.min(most).min(self.0.len()));
        self.0 = rest;
        Some(run)
    }

    /// What a reader is told of the formats.
    pub fn formats(&mut self) -> Formats {
        let only = Formats::Only;
        let later = [Formats::Auto, Formats::Every, only(RecordFormat::V0), only(RecordFormat::V1), only(RecordFormat::V2)];
        match usize::from(self.byte()) % 7 {
            5 => only(RecordFormat::V3),
            6 => only(RecordFormat::V07),
            other => later[other],
        }
    }

    fn number<const N: usize>(&mut self) -> u64 {
        let (taken, rest) = self.0.split_at(N.min(self.0.len()));
        self.0 = rest;
        taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}
