//! What the head and the agents say to each other over the control channel (postcard, one message a
//! Noise frame). From the first release on, `PROTOCOL` grows whenever a type here changes.

use serde::{Deserialize, Serialize};

use super::balance::{BalanceEvent, BalanceOrder};
use super::begin::Begin;
use super::compare::{CompareOrder, Compared};
use super::copy_id::CopyId;
use super::disk::{DiskEvent, DiskOrder};
use super::farm::{FarmEvent, FarmOrder};
use super::files::FilesOrder;
use super::keys::Secret;
use super::probe::{Complaint, Finding, Meeting};
use super::report::Report;
use super::route::{LinkSide, NodeAddress, Route};
use super::survey::{SurveyAnswer, SurveyOrder};
use super::view::NodeView;
use crate::stat::{Absence, StatReply, StatRequest};

/// From the head to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToAgent {
    /// A heartbeat of the head.
    Ping,
    /// Take part in a copy.
    Begin(Box<Begin>),
    /// Reserve this number of bytes of memory for the copy as soon as they are free. The copy begins when all
    /// nodes have reserved theirs.
    Queue(CopyId, u64),
    /// A lane's hops have changed.
    Route(CopyId, Route),
    /// Your disk holds the others up: drop what it can't take, and fetch it afterwards.
    Detach(CopyId),
    /// All blocks have been read and this is their digest: put the file under its final name.
    Commit(CopyId, [u8; 32]),
    /// The copy is over. Files that aren't committed are removed; files that were prepared but not settled
    /// are replaced by the previous ones.
    Close(CopyId),
    /// Connect to the agents that listen at these addresses, and keep the connections for future copies;
    /// accept connections of neighbours with this secret, which was made for this order. `CopyId` is the
    /// identity of the order.
    Stand(CopyId, Secret, NodeAddress),
    /// Run a command (program and arguments, in the system's bytes).
    Exec(Vec<Vec<u8>>),
    /// End.
    Shutdown,
    /// Serve your own program to peers with one of these tickets, each valid once, for a number of seconds and
    /// while this channel is open.
    ServeBinary(Vec<Secret>, u16),
    /// Survey the network.
    Survey(SurveyOrder),
    /// Meet another agent and measure the network between.
    Probe(Box<Meeting>),
    /// End a meeting.
    EndProbe(CopyId),
    /// Test the disk under a path; the test ends with this channel at the latest.
    Disk(DiskOrder),
    /// A clock request, sent at this time of the head's clock; it is answered before other messages.
    Clock(u64),
    /// Copy from the node's own disk; what was made for it is gone with this channel.
    Balance(BalanceOrder),
    /// Say what there is to be given.
    Stat(StatRequest),
    /// What stands beside the copy's file once it is committed, in a file of its own.
    Attach(CopyId, Vec<u8>),
    /// A parcel of the program that goes by fabrics for agents that lack it, and whether more follow.
    Helper(Vec<u8>, bool),
    /// Serve a mount with this node's files.
    Files(FilesOrder),
    /// Compare what is at the destination of a copy that is to come.
    Compare(CompareOrder),
    /// About jobs.
    Farm(FarmOrder),
    /// Say what the node is doing.
    View,
    /// All blocks have been read and this is their digest: make everything ready that must be there
    /// before `Commit` gives the file its final name. Only sent if no node may commit before all can.
    Prepare(CopyId, [u8; 32]),
    /// Every node has committed: remove what the file replaced.
    Settle(CopyId),
}

/// From an agent to the head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromAgent {
    /// First, once the channel is open.
    Welcome {
        /// The agent's process.
        pid: u32,
        /// Nanoseconds since the agent started.
        age_ns: u64,
        /// Connections to neighbours that it keeps for copies to come.
        links: u32,
    },
    /// Every so often, from a thread that no disk can block.
    Heartbeat(Option<Box<Report>>),
    /// The copy can't begin yet, since this number of other copies use the agent's memory; the head may `Queue`
    /// it.
    Busy(CopyId, u32),
    /// The memory that was queued for is reserved for the copy.
    Admitted(CopyId),
    /// The destination is open.
    Ready(CopyId),
    /// The first block has come in.
    First(CopyId),
    /// A link broke or couldn't be opened.
    LinkLost {
        /// The copy.
        copy: CopyId,
        /// The lane's number.
        lane: u16,
        /// The link's epoch.
        epoch: u32,
        /// Which of the node's links.
        side: LinkSide,
        /// Why.
        reason: String,
    },
    /// A block came in changed.
    Bad(CopyId, u64),
    /// A frame came in changed; its link is given up.
    BadFrame {
        /// The copy.
        copy: CopyId,
        /// The lane's number.
        lane: u16,
        /// The link's epoch.
        epoch: u32,
        /// Which of the node's links.
        side: LinkSide,
    },
    /// Every block is held; this is their digest.
    Complete(CopyId, [u8; 32], Box<Report>),
    /// The file has its final name, on stable storage if that was asked for.
    Committed(CopyId, Box<Report>),
    /// This node can't go on with the copy.
    Failed(CopyId, String),
    /// The copy is over here: nothing of it is left but what was committed.
    Closed(CopyId),
    /// The answer to `Stand`: the links that couldn't be opened, and why.
    Stands(CopyId, Vec<String>),
    /// Bytes of the command's standard output (false) or error (true).
    Output(bool, Vec<u8>),
    /// The command ended: its exit code, or the signal that killed it, negated.
    Exited(i32),
    /// The command couldn't be started.
    ExecFailed(String),
    /// What came of the survey's order before.
    Surveyed(SurveyAnswer),
    /// A meeting has found something out; there may be more.
    Found(CopyId, Box<Finding>),
    /// A meeting is over at this agent: as planned, or why not.
    ProbeEnded(CopyId, Option<Complaint>),
    /// How the disk's test goes.
    Disk(DiskEvent),
    /// What time it is: when the head asked, by its clock; when the question came and when it was
    /// answered, by the agent's.
    Clock(u64, u64, u64),
    /// A parcel of what was noted of a copy that has been closed (nothing where nothing was), and
    /// whether more follow.
    Trace(CopyId, Vec<u8>, bool),
    /// How the balance test goes.
    Balance(BalanceEvent),
    /// A block is written, where the head must hear of each.
    Written(CopyId, u64),
    /// The answer to `Stat`, or why there is none.
    Looked(Result<Vec<StatReply>, String>),
    /// The parts of its tree that the node didn't send; precedes `Committed`.
    Absent(CopyId, Absence),
    /// The answer to `Files`: connections with the secret are accepted, or why not.
    FilesOpen(CopyId, Option<String>),
    /// How the comparison goes.
    Compared(Compared),
    /// About jobs.
    Farm(Box<FarmEvent>),
    /// The answer to `View`.
    Viewed(Box<NodeView>),
    /// The answer to `Prepare`: everything is on stable storage, if that was asked for, under temporary
    /// names.
    Prepared(CopyId),
}

impl FromAgent {
    /// The message's bytes.
    ///
    /// # Panics
    /// Never: these types always have bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("the type has no unserialisable part")
    }

    /// Reads a message; `None` when the bytes are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

impl ToAgent {
    /// The message's bytes.
    ///
    /// # Panics
    /// Never: these types always have bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("the type has no unserialisable part")
    }

    /// Reads a message; `None` when the bytes are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_length_that_is_not_there_costs_nothing() {
        // `Exec` with 2^62 words, of which none follows.
        let bytes = [8, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
        assert!(ToAgent::parse(&bytes).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..34_u8) {
            for bytes in [bytes.clone(), [&[kind], &bytes[..]].concat()] {
                if let Some(message) = ToAgent::parse(&bytes) {
                    let again = message.to_bytes();
                    prop_assert_eq!(ToAgent::parse(&again).map(|m| m.to_bytes()), Some(again));
                }
                if let Some(message) = FromAgent::parse(&bytes) {
                    // By their bytes: a rate that is no number isn't equal to itself.
                    let again = message.to_bytes();
                    prop_assert_eq!(FromAgent::parse(&again).map(|m| m.to_bytes()), Some(again));
                }
            }
        }
    }
}
