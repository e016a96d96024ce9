//! A part of all packets, by chance: the same packets in each run with the same seed.

use super::super::{Args, ElementError, text};

/// Which packets are taken.
pub(super) struct Sample {
    part: f64,
    seed: u64,
}

impl Sample {
    /// The argument SAMPLE: from 0, none, to 1, all of them, as without it.
    pub(super) fn of(args: &Args, seed: u64) -> Result<Self, ElementError> {
        Ok(Self { part: args.real("SAMPLE", 1.0)?.clamp(0.0, 1.0), seed })
    }

    /// That part, from 0 to 1.
    pub(super) fn new(part: f64, seed: u64) -> Self {
        Self { part, seed }
    }

    /// The part.
    pub(super) fn part(&self) -> f64 {
        self.part
    }

    /// Another part from now on.
    pub(super) fn set_part(&mut self, part: f64) {
        self.part = part;
    }

    /// Whether all are taken.
    pub(super) fn is_all(&self) -> bool {
        self.part >= 1.0
    }

    /// Whether the next one is.
    pub(super) fn takes(&mut self) -> bool {
        self.is_all() || self.random() < self.part
    }

    /// The part as handlers show it.
    pub(super) fn shown(&self) -> String {
        text::shortest(self.part)
    }

    /// From 0 to 1.
    fn random(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.seed >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(sample: &str) -> usize {
        let mut sample = Sample::of(&Args::parse(&[format!("SAMPLE {sample}")], &[], &["SAMPLE"]).unwrap(), 7).unwrap();
        (0..1000).filter(|_| sample.takes()).count()
    }

    #[test]
    fn about_the_part_that_is_asked_for() {
        assert_eq!(["0", "-3", "1", "2"].map(taken), [0, 0, 1000, 1000]);
        assert!((200..300).contains(&taken("0.25")), "{}", taken("0.25"));
    }
}
