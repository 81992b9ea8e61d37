use std::fmt;

use serde::{Deserialize, Serialize};

/// The activity of a thread. A thread is at one stage at a time: the busy times of its spans do not
/// overlap, even where the spans do.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Stage {
    /// Preparing: starting agents, opening destinations, starting threads.
    #[default]
    SetUp,
    /// Connecting to a downstream and greeting it.
    Dial,
    /// Reading a block from the source, or from the node's own copy.
    Read,
    /// Computing a block's digest and encrypting it.
    Seal,
    /// Sending a block that this node read itself to its downstream.
    Send,
    /// Receiving bytes from the upstream.
    Receive,
    /// Forwarding bytes from the upstream to the downstream.
    Relay,
    /// Decrypting and verifying a block.
    Open,
    /// Writing a block to its destination.
    Write,
    /// Flushing the file to stable storage.
    Fsync,
    /// Waiting for bytes from the peer or, without a peer, from the previous stage in this node.
    WaitUpstream,
    /// Waiting for the downstream: its connection's buffer is full.
    WaitDownstream,
    /// Waiting for a free buffer: the next stage in this node uses all of them.
    WaitBuffer,
    /// An exchange of control messages; its `block` is the [`Exchange`](super::Exchange).
    Control,
    /// Renaming the file to its final name, without flushing it.
    Commit,
    /// The whole process or its machine was suspended.
    Pause,
    /// A mount's request for names or attributes: look-up, readdir, open.
    LookUp,
    /// A mount's request to change names or attributes.
    Change,
}

impl Stage {
    /// All stages with their names, in the order of their numbers in files.
    pub const ALL: [(Self, &'static str); 18] = [
        (Self::SetUp, "set-up"),
        (Self::Dial, "dial"),
        (Self::Read, "read"),
        (Self::Seal, "seal"),
        (Self::Send, "send"),
        (Self::Receive, "receive"),
        (Self::Relay, "relay"),
        (Self::Open, "open"),
        (Self::Write, "write"),
        (Self::Fsync, "fsync"),
        (Self::WaitUpstream, "wait-for-upstream"),
        (Self::WaitDownstream, "wait-for-downstream"),
        (Self::WaitBuffer, "wait-for-buffer"),
        (Self::Control, "control"),
        (Self::Commit, "commit"),
        (Self::Pause, "pause"),
        (Self::LookUp, "look-up"),
        (Self::Change, "change"),
    ];

    /// Returns the number of the stage in trace files.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Returns the stage with this number; `None` if there is none.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).map(|(stage, _)| *stage)
    }

    /// Returns the name of the stage, such as `read`.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns whether a thread at this stage waits for another stage.
    pub fn is_wait(self) -> bool {
        matches!(self, Self::WaitUpstream | Self::WaitDownstream | Self::WaitBuffer)
    }

    /// Returns whether spans of this stage occur for every block, or for every request of a mount.
    /// Spans of other stages are few.
    pub fn is_of_blocks(self) -> bool {
        use Stage as S;
        !matches!(self, S::SetUp | S::Dial | S::Fsync | S::Control | S::Commit | S::Pause)
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
        for (at, (stage, name)) in (0..).zip(Stage::ALL) {
            assert_eq!((stage.number(), Stage::of_number(at)), (at, Some(stage)));
            assert_eq!(stage.name(), name);
            assert_eq!(Stage::ALL.iter().filter(|(_, other)| *other == name).count(), 1);
        }
        assert_eq!(Stage::of_number(18), None);
    }
}
