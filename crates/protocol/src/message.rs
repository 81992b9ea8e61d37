//! Messages between the head and the agents on the control channel (postcard; one message in each
//! Noise frame). From the first release on, `PROTOCOL` is incremented whenever a type here changes.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::command::{CommandOrder, InputNews};
use crate::copy::Absence;
use crate::copy::Begin;
use crate::copy::CopyId;
use crate::copy::Examination;
use crate::copy::Report;
use crate::copy::{CompareOrder, Compared};
use crate::copy::{LinkSide, NodeAddress, Route};
use crate::copy::{StatReply, StatRequest};
use crate::farm::{FarmEvent, FarmOrder};
use crate::files::FilesOrder;
use crate::measure::{Account, NodeView};
use crate::measure::{BalanceEvent, BalanceOrder};
use crate::measure::{Complaint, Finding, Meeting};
use crate::measure::{DiskEvent, DiskOrder};
use crate::measure::{SurveyAnswer, SurveyOrder};
use crate::names::{NamesEvent, NamesOrder};
use crate::wire::Secret;
use crate::wire::SessionOrder;

/// A message from the head to an agent. New kinds come last: their numbers are on the wire.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToAgent {
    /// Do nothing.
    Ping,
    /// Take part in a copy.
    Begin(Box<Begin>),
    /// Reserve this number of bytes of memory for the copy as soon as they are free. The copy
    /// begins when all nodes have reserved their memory.
    Queue(CopyId, u64),
    /// The hops of a lane have changed.
    Route(CopyId, Route),
    /// The node's disk slows the other nodes down: drop blocks that it is too slow for, and fetch
    /// them afterwards.
    Detach(CopyId),
    /// All blocks have been read, and this is their digest: give the file its final name.
    Commit(CopyId, [u8; 32]),
    /// The copy is over. Remove files that are not committed. Restore the previous versions of
    /// files that were prepared (`Prepare`), but not settled (`Settle`).
    Close(CopyId),
    /// Connect to the agents that listen at these addresses, and keep the connections for future
    /// copies. Accept connections of neighbours with this secret, which was generated for this
    /// order. `CopyId` is the identity of the order.
    Stand(CopyId, Secret, NodeAddress),
    /// Run a command.
    Exec(CommandOrder),
    /// Exit.
    Shutdown,
    /// Send the agent's own program to peers that present one of these tickets. Each ticket is
    /// valid once, for this number of seconds, and only while this channel is open.
    ServeBinary(Vec<Secret>, u16),
    /// Survey the network.
    Survey(SurveyOrder),
    /// Connect to another agent, or wait for its connection, and measure the network between the
    /// two.
    Probe(Box<Meeting>),
    /// End a meeting.
    EndProbe(CopyId),
    /// Test the disk that a path is on. The test is stopped if this channel ends.
    Disk(DiskOrder),
    /// A request for the agent's time, sent at this time of the head's clock. It is answered before
    /// other messages.
    Clock(u64),
    /// An order of the balance test. Files that were created for the test are removed when this
    /// channel ends.
    Balance(BalanceOrder),
    /// Report the attributes of files that the node could send.
    Stat(StatRequest),
    /// Store this text in a file next to the copy's file when the copy's file is committed.
    Attach(CopyId, Vec<u8>),
    /// A piece of the helper program for fabrics, which the agent does not have, and whether more
    /// pieces follow.
    Helper(Vec<u8>, bool),
    /// Serve this node's files to a mount.
    Files(FilesOrder),
    /// An order of a comparison before a copy.
    Compare(CompareOrder),
    /// An order about jobs.
    Farm(FarmOrder),
    /// Report the present activity of the node.
    View,
    /// Examine the node, and the directory of the destination with this path (raw bytes).
    Examine(Vec<u8>),
    /// All blocks have been read, and this is their digest: prepare everything that must be done
    /// before `Commit` can give the file its final name. Sent only if no node may commit before all
    /// can.
    Prepare(CopyId, [u8; 32]),
    /// All nodes have committed: remove the previous version of the file.
    Settle(CopyId),
    /// An order about the session itself.
    Session(SessionOrder),
    /// An order about names for content.
    Names(NamesOrder),
    /// A piece of the input of the session's last command; an empty one is its end.
    Input(Vec<u8>),
}

/// A message from an agent to the head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromAgent {
    /// The first message of a channel.
    Welcome {
        /// The process id of the agent.
        pid: u32,
        /// The age of the agent in nanoseconds.
        age_ns: u64,
        /// The number of connections to neighbours that the agent keeps for future copies.
        links: u32,
    },
    /// A heartbeat, sent at intervals from a thread that no disk can block, with a report of each
    /// copy in progress.
    Heartbeat(Vec<(CopyId, Report)>),
    /// The copy cannot begin yet, since this number of other copies use the agent's memory. The
    /// head may send `Queue`.
    Busy(CopyId, u32),
    /// The memory that the head queued for is reserved for the copy.
    Admitted(CopyId),
    /// The destination is open.
    Ready(CopyId),
    /// The first block has arrived.
    First(CopyId),
    /// A link broke, or could not be opened.
    LinkLost {
        /// The copy that used the link.
        copy: CopyId,
        /// The number of the lane.
        lane: u16,
        /// The epoch of the link.
        epoch: u32,
        /// The side of the node that the link is on.
        side: LinkSide,
        /// Why the link broke, or could not be opened.
        #[serde(deserialize_with = "bounds::reason")]
        reason: String,
    },
    /// The block with this index arrived corrupt.
    Bad(CopyId, u64),
    /// A corrupt frame arrived; its link is given up.
    BadFrame {
        /// The copy that used the link.
        copy: CopyId,
        /// The lane's number.
        lane: u16,
        /// The link's epoch.
        epoch: u32,
        /// The side of the node that the link is on.
        side: LinkSide,
    },
    /// The node has every block; this is their digest.
    Complete(CopyId, [u8; 32], Box<Report>),
    /// The file has its final name, and is on stable storage if that was requested.
    Committed(CopyId, Box<Report>),
    /// This node cannot continue the copy, and why.
    Failed(CopyId, #[serde(deserialize_with = "bounds::reason")] String),
    /// The copy is over on this node: only committed files are left of it.
    Closed(CopyId),
    /// The reply to `Stand`: the links that could not be opened, and why.
    Stands(CopyId, Vec<String>),
    /// Bytes of the command's standard output (false) or standard error (true).
    Output(bool, Vec<u8>),
    /// The command ended: its exit code, or the negated number of the signal that killed it.
    Exited(i32),
    /// The command could not be started, and why.
    ExecFailed(#[serde(deserialize_with = "bounds::reason")] String),
    /// The reply to the last order of the survey.
    Surveyed(SurveyAnswer),
    /// A result of a meeting; there may be more.
    Found(CopyId, Box<Finding>),
    /// A meeting is over at this agent: `None` if it ended as planned, otherwise the reason.
    ProbeEnded(CopyId, Option<Complaint>),
    /// An event of the disk test.
    Disk(DiskEvent),
    /// The reply to `Clock`: the time of the request by the head's clock, then the times of the
    /// request's arrival and of the reply by the agent's clock.
    Clock(u64, u64, u64),
    /// A piece of the trace of a closed copy (empty if nothing was recorded), and whether more
    /// pieces follow.
    Trace(CopyId, Vec<u8>, bool),
    /// An event of the balance test.
    Balance(BalanceEvent),
    /// The block with this index was written; sent only if the head requested acknowledgements.
    Written(CopyId, u64),
    /// The reply to `Stat`, or why there is none.
    Looked(#[serde(deserialize_with = "bounds::answer")] Result<Vec<StatReply>, String>),
    /// The agent still looks for what `Stat` asks for, and its disk answers.
    Looking,
    /// Parts of the tree that this node did not send, or could not put in place. Sent before
    /// `Committed` or `Failed`, as often as needed; the counts of all messages add up.
    Absent(CopyId, Absence),
    /// The reply to `Files`: `None` if connections with the secret are accepted, otherwise the
    /// reason.
    FilesOpen(CopyId, #[serde(deserialize_with = "bounds::reason_if_any")] Option<String>),
    /// An event of the comparison.
    Compared(Compared),
    /// A message about jobs.
    Farm(Box<FarmEvent>),
    /// The reply to `Examine`, or why there is none.
    Examined(#[serde(deserialize_with = "bounds::answer")] Result<Box<Examination>, String>),
    /// The reply to `View`.
    Viewed(Box<NodeView>),
    /// The reply to `Resume`, before all other frames: so many of the head's messages have arrived.
    Resumed(u64),
    /// The reply to `Prepare`: everything is stored under temporary names, and is on stable storage
    /// if that was requested.
    Prepared(CopyId),
    /// An answer about names for content.
    Names(NamesEvent),
    /// The agent ends the session, and why: an order that the sender's role does not admit, or more
    /// than its budget.
    Refused(#[serde(deserialize_with = "bounds::reason")] String),
    /// News of the input of the session's last command.
    Input(InputNews),
}

/// A value that is sent as its postcard bytes.
pub trait Message: Serialize + DeserializeOwned {
    /// Returns the message's bytes.
    ///
    /// # Panics
    /// Never: these types can always be serialised.
    #[must_use]
    fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("every value can be serialised")
    }

    /// Parses a message; `None` if the bytes are not a message.
    #[must_use]
    fn parse(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

impl Message for FromAgent {}
impl Message for ToAgent {}
impl Message for Account {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_false_length_allocates_nothing() {
        // `Exec` with 2^62 arguments, none of which follows.
        let bytes = [8, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
        assert!(ToAgent::parse(&bytes).is_none());
    }

    #[test]
    fn values_and_reasons_of_a_node_are_cut_to_what_a_table_can_show() {
        let long = || "ä".repeat(20_000);
        let told = |message: FromAgent| FromAgent::parse(&message.to_bytes()).unwrap();
        let examination = Examination {
            kernel: long(),
            cores: 1,
            memory_free: 1,
            open_files: 1,
            conditions: vec![("c".to_owned(), "v".repeat(400)); 90],
            place: Err(long()),
        };
        let FromAgent::Examined(Ok(seen)) = told(FromAgent::Examined(Ok(Box::new(examination))))
        else {
            panic!("no examination");
        };
        assert_eq!(seen.kernel, "ä".repeat(bounds::FACT_MAX / 2));
        assert_eq!(seen.conditions, vec![("c".to_owned(), "v".repeat(bounds::FACT_MAX)); 64]);
        assert_eq!(seen.place, Err("ä".repeat(bounds::REASON_MAX / 2)));
        let refused = told(FromAgent::Refused(long()));
        assert_eq!(refused, FromAgent::Refused("ä".repeat(bounds::REASON_MAX / 2)));
        let open = told(FromAgent::FilesOpen(CopyId([0; 16]), Some(long())));
        let reason = Some("ä".repeat(bounds::REASON_MAX / 2));
        assert_eq!(open, FromAgent::FilesOpen(CopyId([0; 16]), reason));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..40_u8) {
            for bytes in [bytes.clone(), [&[kind], &bytes[..]].concat()] {
                if let Some(message) = ToAgent::parse(&bytes) {
                    let again = message.to_bytes();
                    prop_assert_eq!(ToAgent::parse(&again).map(|m| m.to_bytes()), Some(again));
                }
                if let Some(message) = FromAgent::parse(&bytes) {
                    // Compared by bytes: NaN is not equal to itself.
                    let again = message.to_bytes();
                    prop_assert_eq!(FromAgent::parse(&again).map(|m| m.to_bytes()), Some(again));
                }
            }
        }
    }
}
