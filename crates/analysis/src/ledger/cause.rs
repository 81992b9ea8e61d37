//! The causes of time in a run.

use std::fmt;

use garland_core::trace::Stage;

/// The cause of a period of time in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The head searched the fastest order and shape of the plan, before it contacted any node.
    Search,
    /// Agents were started or connected to, and destinations opened.
    SetUp,
    /// A node, or the head, read and digested what it has, or looked at its status, to find out
    /// what need not be sent.
    Comparison,
    /// Agents were busy with other copies.
    Queue,
    /// Control messages between the head and the agents.
    Control,
    /// Reading the source from its disk.
    SourceDisk,
    /// Waiting for a source that is on no disk of this machine: a pipe, a command, a store of
    /// objects, or nodes that hold a name.
    Source,
    /// The head's CPUs: its threads waited for a CPU, or moved bytes.
    SourceCpu,
    /// Computing digests of blocks, and encrypting them.
    Seal,
    /// The receive window was full although the receiver was reading: its receive buffer is too
    /// small.
    BlockedByPeer,
    /// The sender's send buffer was too small.
    BlockedByBuffer,
    /// Bytes were in flight, and nothing but the wire limited them.
    Wire,
    /// The bytes went through ssh, since no connection to the agent's port came about.
    Login,
    /// Packets were lost on a wire and sent again.
    Loss,
    /// A node forwarded bytes from one connection to the next.
    Relay,
    /// A node's threads were runnable but had no CPU.
    Processor,
    /// Decrypting and verifying blocks.
    Open,
    /// Writing to a node's disk.
    SinkDisk,
    /// Flushing to a node's disk.
    Fsync,
    /// The time from the last write to the end of the commit, without flushing.
    FinalAck,
    /// All threads waited for each other.
    Bubble,
    /// One node continued after all others had finished.
    Straggler,
    /// A node's process or machine was suspended.
    Pause,
    /// A node died, and was waited for until that was known.
    Dead,
    /// The machine that emulates all nodes had no CPU for them.
    Emulator,
    /// Periods shorter than the error of the clocks.
    ClockError,
    /// Waiting for a node without a trace.
    Undecided,
    /// Unknown: no record covers the time.
    Unattributed,
    /// Agents cleaned up and exited.
    Teardown,
}

impl Cause {
    /// Returns the cause of a stage's work, either on a source (`at_source`) or on a receiving
    /// node.
    pub(super) fn from_stage(stage: Stage, at_source: bool) -> Self {
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

    /// Returns the cause's name in the ledger.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// Returns advice on how to reduce time with this cause.
    pub fn remedy(self) -> &'static str {
        self.words().1
    }

    /// Returns the name and the remedy of the cause.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Search => ("search", "none: it takes a tenth of what it can save"),
            Self::SetUp => ("set-up", "keep agents running (garland up NODES)"),
            Self::Comparison => ("comparison", "none: what nodes have need not be sent"),
            Self::Queue => ("busy agents", "run fewer concurrent copies to these nodes"),
            Self::Control => ("control round trips", "none: every copy needs it"),
            Self::SourceDisk => ("source disk", "use a faster source, or a cached one"),
            Self::Source => {
                ("source", "use a source that gives more: a nearer store, more holders")
            }
            Self::SourceCpu => ("source CPU", "give the machine that reads more processor time"),
            Self::Seal => ("seal", "disable encryption on a trusted network (--no-encrypt)"),
            Self::BlockedByPeer => {
                ("send blocked by peer", "enlarge the receive buffer there (net.ipv4.tcp_rmem)")
            }
            Self::BlockedByBuffer => (
                "send blocked by local buffer",
                "enlarge the send buffer there (net.ipv4.tcp_wmem)",
            ),
            Self::Wire => ("wire", "use a faster network, or more rails"),
            Self::Login => ("ssh", "open a TCP port to the nodes, and name it by --port"),
            Self::Loss => {
                ("loss", "replace the cable, the NIC or the port: packets are lost there")
            }
            Self::Relay => ("relay", "give the node more processor time"),
            Self::Processor => ("processor", "give the node more processor time"),
            Self::Open => ("open", "give the node more processor time"),
            Self::SinkDisk => ("sink disk", "use a faster disk there, or exclude the node"),
            Self::Fsync => ("fsync", "use a disk that flushes faster, or --no-fsync"),
            Self::FinalAck => ("final acknowledgement", "none: every copy needs it"),
            Self::Bubble => ("pipeline bubble", "use more blocks in flight, or smaller blocks"),
            Self::Straggler => ("straggler", "repair or exclude the node (--min-ok)"),
            Self::Pause => ("pause", "find out what suspended the node"),
            Self::Dead => ("dead node", "repair or exclude the node (--min-ok)"),
            Self::Emulator => ("emulator", "use a machine with more CPUs, or slower wires"),
            Self::ClockError => ("clock error", "collect more traces"),
            Self::Undecided => ("undecided", "collect more traces"),
            Self::Unattributed => ("unattributed", "collect more traces"),
            Self::Teardown => ("teardown", "none: every copy needs it"),
        }
    }

    /// Returns whether changes to the nodes can reduce time with this cause.
    pub fn can_be_helped(self) -> bool {
        !self.is_given() && self != Self::FinalAck
    }

    /// Returns whether time with this cause can be a fault. Costs of every run and unknown causes
    /// are not faults.
    pub fn can_be_fault(self) -> bool {
        !self.is_given() && !matches!(self, Self::SetUp | Self::Queue | Self::Login)
    }

    /// Returns whether all stages of the pipeline stop meanwhile.
    pub(super) fn stops_all(self) -> bool {
        let by_node = matches!(self, Self::Pause | Self::Dead | Self::Fsync);
        by_node || matches!(self, Self::Control | Self::FinalAck)
    }

    /// Returns whether a node with more processors would need less of such time.
    pub(super) fn lacks_processor(self) -> bool {
        let work = matches!(self, Self::Seal | Self::Open | Self::Relay);
        work || matches!(self, Self::Processor | Self::SourceCpu)
    }

    /// Returns whether nodes and options have no influence on the cause: costs of every run and of
    /// the lab, what saves more than it costs, and unknown causes.
    fn is_given(self) -> bool {
        let every_run = matches!(self, Self::Control | Self::Teardown | Self::Emulator)
            || matches!(self, Self::Search | Self::Comparison);
        let unknown = matches!(self, Self::ClockError | Self::Undecided | Self::Unattributed);
        every_run || unknown
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
