//! The faults of a run.

use garland_core::splitmix::SplitMix;

/// A fault. `at` counts the calls that it could strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A machine stops at a step.
    Crash {
        /// 0 for the head, 1 for the node.
        side: usize,
        /// The step.
        at: u64,
        /// Whether the peer is told at once, or never.
        loud: bool,
    },
    /// A connection is reset at a transfer.
    Cut {
        /// Whether it is a data link, or the control channel.
        data: bool,
        /// The transfer.
        at: u64,
    },
    /// A bit on a data link is flipped.
    Flip {
        /// The transfer.
        at: u64,
    },
    /// A read of the source fails.
    Read {
        /// The read.
        at: u64,
    },
    /// A write fails.
    Write {
        /// The write.
        at: u64,
        /// Whether the disk is full, or broken.
        full: bool,
    },
    /// The file cannot be made stable.
    Sync,
    /// The file cannot be renamed.
    Rename,
    /// The source becomes shorter.
    Truncate {
        /// The read that notices it.
        at: u64,
    },
}

/// The faults that are still to come, and what was counted so far.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    coming: Vec<Fault>,
    happened: Vec<Fault>,
    steps: [u64; 2],
    control: u64,
    data: u64,
    reads: u64,
    writes: u64,
}

impl Faults {
    /// Returns up to three faults that depend on `seed`.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut random = SplitMix(seed ^ 0x00fa_0175);
        let mut coming = Vec::new();
        for _ in 0..random.below(4) {
            let mut at = |end| random.below(end) as u64;
            let (kind, flag) = (at(12), at(2) == 0);
            coming.push(match kind {
                0 | 1 => Fault::Crash { side: 0, at: at(120), loud: flag },
                2..=4 => Fault::Crash { side: 1, at: at(120), loud: flag },
                5 => Fault::Cut { data: false, at: at(60) },
                6 => Fault::Cut { data: true, at: at(120) },
                7 => Fault::Flip { at: at(100) },
                8 => Fault::Read { at: at(20) },
                9 => Fault::Write { at: at(20), full: flag },
                10 if flag => Fault::Sync,
                10 => Fault::Rename,
                _ if flag => Fault::Truncate { at: at(20) },
                _ => Fault::Flip { at: at(100) },
            });
        }
        Self { coming, ..Self::default() }
    }

    /// Returns one fault.
    #[must_use]
    pub fn only(fault: Fault) -> Self {
        Self { coming: vec![fault], ..Self::default() }
    }

    /// Whether the copy must succeed: nothing happened that a link cannot be repaired after.
    #[must_use]
    pub fn are_mendable(happened: &[Fault]) -> bool {
        let mendable =
            |fault: &Fault| matches!(fault, Fault::Cut { data: true, .. } | Fault::Flip { .. });
        happened.iter().all(mendable)
    }

    pub(super) fn happened(self) -> Vec<Fault> {
        self.happened
    }

    fn strike(&mut self, strikes: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let at = self.coming.iter().position(strikes)?;
        let fault = self.coming.swap_remove(at);
        self.happened.push(fault);
        Some(fault)
    }

    /// Counts a step. Returns whether the machine crashes, and whether its peer is told.
    pub(super) fn crash(&mut self, of: usize) -> Option<bool> {
        self.steps[of] += 1;
        let now = self.steps[of];
        match self.strike(
            |fault| matches!(fault, Fault::Crash { side, at, .. } if *side == of && *at < now),
        )? {
            Fault::Crash { loud, .. } => Some(loud),
            _ => None,
        }
    }

    /// Counts a transfer. Returns whether the connection is cut.
    pub(super) fn cut(&mut self, is_data: bool) -> bool {
        let count = if is_data { &mut self.data } else { &mut self.control };
        *count += 1;
        let now = *count;
        self.strike(
            |fault| matches!(fault, Fault::Cut { data, at } if *data == is_data && *at < now),
        )
        .is_some()
    }

    /// Whether a bit of the present transfer on a data link is flipped.
    pub(super) fn flip(&mut self) -> bool {
        let now = self.data;
        self.strike(|fault| matches!(fault, Fault::Flip { at } if *at < now)).is_some()
    }

    /// Counts a read. Returns its error; the end of the file is one of 0.
    pub(super) fn read(&mut self) -> Option<i32> {
        self.reads += 1;
        let now = self.reads;
        let fault = self.strike(
            |fault| matches!(fault, Fault::Read { at } | Fault::Truncate { at } if *at < now),
        )?;
        Some(if matches!(fault, Fault::Truncate { .. }) { 0 } else { 5 })
    }

    /// Counts a write. Returns its error.
    pub(super) fn write(&mut self) -> Option<i32> {
        self.writes += 1;
        let now = self.writes;
        match self.strike(|fault| matches!(fault, Fault::Write { at, .. } if *at < now))? {
            Fault::Write { full: true, .. } => Some(28),
            _ => Some(5),
        }
    }

    /// Whether this sync or rename fails.
    pub(super) fn place(&mut self, of: Fault) -> bool {
        self.strike(|fault| *fault == of).is_some()
    }
}
