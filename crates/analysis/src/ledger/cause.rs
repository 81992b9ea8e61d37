//! What time goes into.

use std::fmt;

use garland_core::trace::Stage;

/// Why a moment passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Agents were started or connected to, and destinations opened.
    SetUp,
    /// Agents were busy with other copies.
    Queue,
    /// Orders and answers between the head and the agents.
    Control,
    /// The source's disk.
    SourceDisk,
    /// The head's processors: its threads had none, or moved bytes.
    SourceCpu,
    /// Digesting and sealing.
    Seal,
    /// The receiver's window was full while it read: its receive buffer is too small.
    BlockedByPeer,
    /// The sender's own buffer was too small.
    BlockedByBuffer,
    /// Bytes were under way.
    Wire,
    /// A node moved bytes from one connection to the next.
    Relay,
    /// A node's threads could have run and had no processor.
    Processor,
    /// Checking and opening seals.
    Open,
    /// A node's disk took the bytes.
    SinkDisk,
    /// A node's disk made them stable.
    Fsync,
    /// Between the last byte's writing and the commit.
    FinalAck,
    /// All threads waited for others.
    Bubble,
    /// One node went on when all others had ended.
    Straggler,
    /// A node's process or machine stood still.
    Pause,
    /// The machine that plays all nodes had no processor for them.
    Emulator,
    /// Shorter than what the clocks may be off.
    ClockError,
    /// A node without a trace was waited for.
    Undecided,
    /// Unknown: there is no record.
    Unattributed,
    /// Agents cleaned up and ended.
    Teardown,
}

impl Cause {
    /// What a thread's work at a stage counts as; at a source, or at a node that takes the bytes.
    pub(super) fn of(stage: Stage, at_source: bool) -> Self {
        match stage {
            Stage::Read if at_source => Self::SourceDisk,
            Stage::Read | Stage::Write => Self::SinkDisk,
            Stage::Seal => Self::Seal,
            Stage::Send | Stage::Receive | Stage::Relay if at_source => Self::SourceCpu,
            Stage::Send | Stage::Receive | Stage::Relay => Self::Relay,
            Stage::Open => Self::Open,
            Stage::Fsync => Self::Fsync,
            Stage::Commit => Self::FinalAck,
            Stage::Dial | Stage::Control | Stage::LookUp | Stage::Change => Self::Control,
            Stage::SetUp => Self::SetUp,
            Stage::Pause => Self::Pause,
            Stage::WaitUpstream | Stage::WaitDownstream | Stage::WaitBuffer => Self::Bubble,
        }
    }

    /// Its name in the ledger.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::Queue => "busy agents",
            Self::Control => "control round trips",
            Self::SourceDisk => "source disk",
            Self::SourceCpu => "source CPU",
            Self::Seal => "seal",
            Self::BlockedByPeer => "send blocked by peer",
            Self::BlockedByBuffer => "send blocked by local buffer",
            Self::Wire => "wire",
            Self::Relay => "relay",
            Self::Processor => "processor",
            Self::Open => "open",
            Self::SinkDisk => "sink disk",
            Self::Fsync => "fsync",
            Self::FinalAck => "final acknowledgement",
            Self::Bubble => "pipeline bubble",
            Self::Straggler => "straggler",
            Self::Pause => "pause",
            Self::Emulator => "emulator",
            Self::ClockError => "clock error",
            Self::Undecided => "undecided",
            Self::Unattributed => "unattributed",
            Self::Teardown => "teardown",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::SetUp => "keep agents up (garland up)",
            Self::Queue => "make fewer copies at once to these nodes",
            Self::Control | Self::FinalAck | Self::Teardown => "none: every copy takes it",
            Self::SourceDisk => "a faster source, or one that is cached",
            Self::SourceCpu => "give the head more processor time",
            Self::Seal => "leave blocks unsealed on a trusted network (--no-encrypt)",
            Self::BlockedByPeer => "a larger receive buffer there (net.ipv4.tcp_rmem)",
            Self::BlockedByBuffer => "a larger send buffer there (net.ipv4.tcp_wmem)",
            Self::Wire => "a faster wire, or more rails",
            Self::Relay | Self::Open | Self::Processor => "give the node more processor time",
            Self::SinkDisk => "a faster disk there, or exclude the node",
            Self::Fsync => "a disk that syncs faster, or --no-fsync",
            Self::Bubble => "more blocks in flight, or smaller ones",
            Self::Straggler => "repair or exclude the node (--min-ok)",
            Self::Pause => "find out what stopped the node",
            Self::Emulator => "a machine with more processors, or slower wires",
            Self::ClockError | Self::Undecided | Self::Unattributed => "more evidence is needed",
        }
    }

    /// Whether anything can be done about it for the nodes' part.
    #[must_use]
    pub fn can_be_helped(self) -> bool {
        !matches!(
            self,
            // What every copy takes, however small it is.
            Self::Control
                | Self::FinalAck
                | Self::Teardown
                | Self::Emulator
                | Self::ClockError
                | Self::Undecided
                | Self::Unattributed
        )
    }

    /// Whether its time can be a fault. Costs of every run, and unknown ones, can't.
    #[must_use]
    pub fn can_be_fault(self) -> bool {
        !matches!(
            self,
            Self::SetUp
                | Self::Queue
                | Self::Control
                | Self::Teardown
                | Self::Emulator
                | Self::ClockError
                | Self::Undecided
                | Self::Unattributed
        )
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
