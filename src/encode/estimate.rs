//! How much smaller the records of a batch will get, guessed from the batches before (`CompressionRatioEstimator` in Kafka's clients).

/// The guess: compressed bytes for each uncompressed one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate(f32);

/// A batch that compresses worse than estimated moves the estimate by this much at least.
const DETERIORATE: f32 = 0.05;
/// A batch that compresses better moves the estimate by this much at most.
const IMPROVE: f32 = 0.005;
/// A batch is rather closed early than made too large.
const CAUTION: f32 = 1.05;

impl Default for Estimate {
    fn default() -> Self {
        Self(1.0)
    }
}

#[expect(clippy::as_conversions, clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a guess")]
impl Estimate {
    /// The bytes that `uncompressed` bytes will be compressed to.
    pub(super) fn compressed(self, uncompressed: usize) -> usize {
        (uncompressed as f32 * self.0 * CAUTION) as usize
    }

    /// Learns from a batch.
    pub(super) fn learn(&mut self, uncompressed: usize, compressed: usize) {
        if uncompressed == 0 {
            return;
        }
        let observed = compressed as f32 / uncompressed as f32;
        if observed > self.0 {
            self.0 = (self.0 + DETERIORATE).max(observed);
        } else {
            self.0 = (self.0 - IMPROVE).max(observed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guess_falls_slowly_and_rises_quickly() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.compressed(1000), 1050);
        estimate.learn(1000, 100);
        assert_eq!(estimate, Estimate(0.995));
        estimate.learn(1000, 1200);
        assert_eq!(estimate, Estimate(1.2));
        estimate.learn(1000, 1201);
        assert_eq!(estimate, Estimate(1.25));
        estimate.learn(0, 10);
        assert_eq!(estimate, Estimate(1.25));
    }
}
