use std::fmt;

use serde::{Deserialize, Serialize};

/// What a thread was at. A thread is at one stage at a time: the busy times of its spans don't
/// overlap, even where the spans do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// Getting ready: starting agents, opening destinations, starting threads.
    SetUp,
    /// Connecting to a downstream and greeting it.
    Dial,
    /// Reading a block from the source, or from what the node holds.
    Read,
    /// Digesting a block and sealing it.
    Seal,
    /// Giving the node's own blocks to the kernel, for the downstream.
    Send,
    /// Taking bytes that have come from the upstream.
    Receive,
    /// Passing on bytes that came from the upstream.
    Relay,
    /// Checking a block and opening its seal.
    Open,
    /// Writing a block to its destination.
    Write,
    /// Making the file stable.
    Fsync,
    /// Nothing has come: from the peer, or, without a peer, from the stage before it in this node.
    WaitUpstream,
    /// The downstream takes nothing: its connection's buffer is full.
    WaitDownstream,
    /// No buffer is free: the stage behind it in this node has them all.
    WaitBuffer,
    /// An order under way or being obeyed; its `block` is the [`Exchange`](super::Exchange).
    Control,
    /// Putting the file under its final name, without making it stable.
    Commit,
    /// The whole process stood still: stopped, or its machine was.
    Pause,
    /// A mount's question about names and attributes: look-ups, lists, openings.
    LookUp,
    /// A mount's order to change names or attributes.
    Change,
}

impl Stage {
    /// All of them, in the order of their numbers in a file.
    pub const ALL: [Self; 18] = [
        Self::SetUp,
        Self::Dial,
        Self::Read,
        Self::Seal,
        Self::Send,
        Self::Receive,
        Self::Relay,
        Self::Open,
        Self::Write,
        Self::Fsync,
        Self::WaitUpstream,
        Self::WaitDownstream,
        Self::WaitBuffer,
        Self::Control,
        Self::Commit,
        Self::Pause,
        Self::LookUp,
        Self::Change,
    ];

    /// Its number in a file.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The stage of this number.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::Dial => "dial",
            Self::Read => "read",
            Self::Seal => "seal",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Relay => "relay",
            Self::Open => "open",
            Self::Write => "write",
            Self::Fsync => "fsync",
            Self::WaitUpstream => "wait-for-upstream",
            Self::WaitDownstream => "wait-for-downstream",
            Self::WaitBuffer => "wait-for-buffer",
            Self::Control => "control",
            Self::Commit => "commit",
            Self::Pause => "pause",
            Self::LookUp => "look-up",
            Self::Change => "change",
        }
    }

    /// Whether it is waiting for another stage.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::WaitUpstream | Self::WaitDownstream | Self::WaitBuffer)
    }

    /// Whether every block has spans of it; the others are few.
    #[must_use]
    pub fn is_of_blocks(self) -> bool {
        use Stage as S;
        let of_a_copy = matches!(self, S::SetUp | S::Dial | S::Fsync | S::Control | S::Commit);
        !of_a_copy && self != S::Pause
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_has_its_number_and_a_name_of_its_own() {
        for (at, stage) in (0..).zip(Stage::ALL) {
            assert_eq!((stage.number(), Stage::of_number(at)), (at, Some(stage)));
            assert_eq!(Stage::ALL.iter().filter(|other| other.name() == stage.name()).count(), 1);
        }
        assert_eq!(Stage::of_number(18), None);
    }
}
