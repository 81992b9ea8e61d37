//! The present activity of a node: the counters of its kernel, and the copies and jobs of Garland's
//! agents. Traffic and times are counters; rates are computed from two views.

use serde::{Deserialize, Serialize};

use crate::bounds::cut;
use crate::copy::CopyId;

/// The maximum length of a name in an account in bytes; longer names are truncated.
pub const NAME_MAX: usize = 160;

/// The maximum length in bytes of an account that is sent to another agent of the node.
pub const ACCOUNT_MAX: usize = 48 << 10;

/// The maximum number of copies in a view, which must fit into one message.
const COPIES: usize = 64;
const LANES: usize = 192;
const JOBS: usize = 96;
const NICS: usize = 64;
const DISKS: usize = 96;

/// The present activity of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeView {
    /// The time of the view in nanoseconds of the node's monotonic clock.
    pub at_ns: u64,
    /// The counters of the kernel.
    pub kernel: KernelCounts,
    /// The activity of Garland: all agents of one user together.
    pub account: Account,
    /// The number of agents that exist and did not answer in time.
    pub silent: u32,
}

/// The counters of a node's kernel since boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// The NICs except the loopback interface.
    pub nics: Vec<NicCounts>,
    /// Disks that are not composed of other disks.
    pub disks: Vec<DiskCounts>,
    /// The number of busy ticks of the processors.
    pub busy_ticks: u64,
    /// The total number of ticks of the processors.
    pub ticks: u64,
    /// The number of TCP segments that were retransmitted.
    pub resent: u64,
}

/// The counters of a NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicCounts {
    /// The name of the interface, such as `eth0`.
    pub name: String,
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
}

/// The counters of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounts {
    /// The name of the block device, such as `vda`.
    pub name: String,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Milliseconds in which the disk was in use.
    pub busy_ms: u64,
}

/// The activity of one agent, or of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// The copies that the agent takes part in.
    pub copies: Vec<CopyView>,
    /// The running jobs.
    pub jobs: Vec<JobView>,
    /// The number of jobs that wait for a processor.
    pub waiting: u32,
    /// The number of lanes that the view has no room for.
    pub more_lanes: u32,
    /// The number of running jobs that the view has no room for.
    pub more_jobs: u32,
}

/// The state of a copy on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyView {
    /// The identity of the copy.
    pub copy: CopyId,
    /// The path on this node, truncated to [`NAME_MAX`] bytes.
    pub name: String,
    /// Whether this node is the source.
    pub is_source: bool,
    /// The number of blocks that are held, or were sent by the source.
    pub held: u64,
    /// The number of blocks that belong to this node, once known.
    pub blocks: Option<u64>,
    /// The number of bytes that belong to this node, once known.
    pub length: Option<u64>,
    /// The size of a block in bytes.
    pub block_size: u32,
    /// Whether all blocks are present, and the file is being synced or read back.
    pub finishing: bool,
    /// The lanes that include this node.
    pub lanes: Vec<LaneView>,
}

/// The progress of a lane on a node. All counts are since the copy began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneView {
    /// The number of the lane in the copy.
    pub lane: u16,
    /// Bytes of blocks that were received from the upstream.
    pub came: u64,
    /// Bytes of blocks that were sent, to all downstreams together.
    pub went: u64,
    /// The times for which the lane's thread has waited; `None` if the copy is not traced.
    pub waits: Option<Waits>,
}

/// The times for which a lane's thread has waited, in nanoseconds. For the rest of the time it has
/// worked, or waited for a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// The nanoseconds of waiting for the upstream, from which nothing arrived.
    pub up: u64,
    /// The nanoseconds of waiting for the downstream, which accepted nothing.
    pub down: u64,
    /// The nanoseconds of waiting for the node's own disk: the writer had all buffers, or the next
    /// block was not read yet.
    pub disk: u64,
    /// The nanoseconds of idleness: the lane had not begun, or was finished.
    pub rest: u64,
}

/// A running job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobView {
    /// The number of the job in its list.
    pub job: u32,
    /// The command, truncated to [`NAME_MAX`] bytes.
    pub command: String,
    /// The number of processors that the job uses.
    pub cores: u32,
    /// The time for which the job has run, in nanoseconds.
    pub running_ns: u64,
}

impl NodeView {
    /// Truncates the view so that it fits into a message. Counts the lanes and jobs that are left
    /// out, but not NICs, disks and copies. Views from other agents have no other limit.
    pub fn bound(&mut self) {
        self.kernel.nics.truncate(NICS);
        self.kernel.disks.truncate(DISKS);
        self.kernel.nics.iter_mut().for_each(|nic| cut(&mut nic.name, 15));
        self.kernel.disks.iter_mut().for_each(|disk| cut(&mut disk.name, 31));
        self.account.bound();
    }
}

impl Account {
    /// Adds the account of another agent.
    pub fn add(&mut self, other: Self) {
        self.copies.extend(other.copies);
        self.jobs.extend(other.jobs);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.more_lanes = self.more_lanes.saturating_add(other.more_lanes);
        self.more_jobs = self.more_jobs.saturating_add(other.more_jobs);
    }

    /// Keeps as many copies, lanes and jobs as fit into a message. Counts the lanes and jobs that
    /// are left out.
    pub fn bound(&mut self) {
        let mut lanes = LANES;
        let mut more = 0;
        for (at, copy) in self.copies.iter_mut().enumerate() {
            cut(&mut copy.name, NAME_MAX);
            let room = if at < COPIES { lanes } else { 0 };
            more += copy.lanes.len().saturating_sub(room);
            copy.lanes.truncate(room);
            lanes -= copy.lanes.len();
        }
        self.copies.truncate(COPIES);
        self.more_lanes = self.more_lanes.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        let more = self.jobs.len().saturating_sub(JOBS);
        self.jobs.truncate(JOBS);
        self.jobs.iter_mut().for_each(|job| cut(&mut job.command, NAME_MAX));
        self.more_jobs = self.more_jobs.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::MAX_MESSAGE;
    use crate::{FromAgent, Message};

    /// The largest possible view: every number is the longest, every name too long.
    fn most() -> NodeView {
        let name = || "ä".repeat(NAME_MAX);
        let all = u64::MAX;
        let waits = Some(Waits { up: all, down: all, disk: all, rest: all });
        let lane = LaneView { lane: u16::MAX, came: all, went: all, waits };
        let copy = CopyView {
            copy: CopyId([255; 16]),
            name: name(),
            is_source: true,
            held: all,
            blocks: Some(all),
            length: Some(all),
            block_size: u32::MAX,
            finishing: true,
            lanes: vec![lane; 64],
        };
        let job = JobView { job: u32::MAX, command: name(), cores: u32::MAX, running_ns: all };
        let nic = NicCounts { name: name(), received: all, sent: all };
        let disk = DiskCounts { name: name(), read: all, written: all, busy_ms: all };
        let account = Account {
            copies: vec![copy; 70],
            jobs: vec![job; 2000],
            waiting: u32::MAX,
            more_lanes: 7,
            more_jobs: 0,
        };
        let nics = vec![nic; 300];
        let disks = vec![disk; 300];
        let kernel = KernelCounts { nics, disks, busy_ticks: all, ticks: all, resent: all };
        NodeView { at_ns: all, kernel, account, silent: u32::MAX }
    }

    #[test]
    fn the_longest_view_fits_in_a_message_and_the_rest_is_counted() {
        let mut view = most();
        view.bound();
        let shown = view.account.jobs.len();
        let lanes = |view: &NodeView| -> usize {
            view.account.copies.iter().map(|copy| copy.lanes.len()).sum()
        };
        assert_eq!(view.account.more_jobs as usize, 2000 - shown);
        assert_eq!(view.account.more_lanes as usize, 7 + 70 * 64 - lanes(&view));
        assert!(view.account.to_bytes().len() <= ACCOUNT_MAX, "{}", view.account.to_bytes().len());
        let bytes = FromAgent::Viewed(Box::new(view)).to_bytes();
        assert!(bytes.len() <= MAX_MESSAGE, "{} bytes", bytes.len());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_account_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some(mut account) = Account::parse(&bytes) {
                account.bound();
                prop_assert!(account.to_bytes().len() <= ACCOUNT_MAX);
            }
        }
    }
}
