//! What a node is doing just now: what its kernel has counted, and what Garland's agents there are at.
//! All figures are counters; rates follow from two views.

use serde::{Deserialize, Serialize};

use super::copy_id::CopyId;

/// Bytes of a name that an account has: what is longer is cut.
pub const NAME_MAX: usize = 160;

/// The maximum length in bytes of an account that is sent to another agent of the node.
pub const ACCOUNT_MAX: usize = 48 << 10;

/// The maximum number of items of each kind in a view; further ones are only counted. They fit into one
/// message.
const COPIES: usize = 64;
const LANES: usize = 192;
const JOBS: usize = 96;
const NICS: usize = 64;
const DISKS: usize = 96;

/// What a node is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeView {
    /// When it was looked, in nanoseconds of the node's monotonic clock.
    pub at_ns: u64,
    /// What its kernel has counted.
    pub kernel: KernelCounts,
    /// What Garland does there, all of one user's agents together.
    pub account: Account,
    /// Agents that are there and didn't answer in time.
    pub silent: u32,
}

/// What a node's kernel has counted since the node was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// NICs but the loopback.
    pub nics: Vec<NicCounts>,
    /// Disks that stand on no others.
    pub disks: Vec<DiskCounts>,
    /// The processors' ticks at work.
    pub busy_ticks: u64,
    /// All of the processors' ticks.
    pub ticks: u64,
    /// TCP's segments that were sent again.
    pub resent: u64,
}

/// A NIC's counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicCounts {
    /// Its name.
    pub name: String,
    /// Bytes received.
    pub received: u64,
    /// Bytes sent.
    pub sent: u64,
}

/// A disk's counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounts {
    /// Its name.
    pub name: String,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Milliseconds in which it was in use.
    pub busy_ms: u64,
}

/// What an agent, or several of them, are at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Parts in copies.
    pub copies: Vec<CopyView>,
    /// Jobs that run.
    pub jobs: Vec<JobView>,
    /// Jobs that wait for a processor.
    pub waiting: u32,
    /// Lanes that there was no room for.
    pub more_lanes: u32,
    /// Jobs that there was no room for, which run, too.
    pub more_jobs: u32,
}

/// A node's part in a copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyView {
    /// The copy.
    pub copy: CopyId,
    /// Where its bytes go to or come from here, cut to [`NAME_MAX`] bytes.
    pub name: String,
    /// Whether its bytes come from here.
    pub is_source: bool,
    /// Blocks that are held, or were given.
    pub held: u64,
    /// Blocks that belong here, once that is known.
    pub blocks: Option<u64>,
    /// Bytes that belong here, once that is known.
    pub length: Option<u64>,
    /// Bytes of a block.
    pub block_size: u32,
    /// All is here, and is being made stable or read back.
    pub finishing: bool,
    /// Its lanes over this node.
    pub lanes: Vec<LaneView>,
}

/// A lane over a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneView {
    /// Its number in the copy.
    pub lane: u16,
    /// Bytes of blocks that have come in.
    pub came: u64,
    /// Bytes of blocks that have gone out, to all of its downstreams together.
    pub went: u64,
    /// What its thread has waited for; `None` where nothing is noted of the copy.
    pub waits: Option<Waits>,
}

/// How long a lane's thread has waited for what, in nanoseconds. For the rest of the time it has worked,
/// or lacked a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// For the upstream: nothing came.
    pub up: u64,
    /// For the downstream: it took nothing.
    pub down: u64,
    /// For the node's own disk: its writer had all buffers, or what is given wasn't read yet.
    pub disk: u64,
    /// For nothing: there was nothing to do, since it hadn't begun or all was done.
    pub rest: u64,
}

/// A job that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobView {
    /// Its number in its list.
    pub job: u32,
    /// Its command, cut to [`NAME_MAX`] bytes.
    pub command: String,
    /// Processors that it keeps busy.
    pub cores: u32,
    /// For how long it has run, in nanoseconds.
    pub running_ns: u64,
}

impl NodeView {
    /// Leaves out what would make the view longer than a message may be, and counts it where it is
    /// Garland's own. What comes from another agent is bounded by nothing else.
    pub fn bound(&mut self) {
        self.kernel.nics.truncate(NICS);
        self.kernel.disks.truncate(DISKS);
        self.kernel.nics.iter_mut().for_each(|nic| cut(&mut nic.name, 15));
        self.kernel.disks.iter_mut().for_each(|disk| cut(&mut disk.name, 31));
        self.account.bound();
    }
}

impl Account {
    /// Takes in what another agent is at.
    pub fn add(&mut self, other: Self) {
        self.copies.extend(other.copies);
        self.jobs.extend(other.jobs);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.more_lanes = self.more_lanes.saturating_add(other.more_lanes);
        self.more_jobs = self.more_jobs.saturating_add(other.more_jobs);
    }

    /// Keeps as much as there is room for in a message, and counts the rest.
    pub fn bound(&mut self) {
        let (mut lanes, mut more) = (LANES, 0);
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

    /// The account's bytes, for another agent of the node.
    ///
    /// # Panics
    /// Never: these types always have bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("the type has no unserialisable part")
    }

    /// Reads another agent's; `None` when the bytes are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

/// Truncates a name to a number of bytes.
fn cut(name: &mut String, most: usize) {
    if name.len() > most {
        let end = (0..=most).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
        name.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{FromAgent, MAX_MESSAGE};

    /// As much as anyone may claim: every number the longest, every name too long.
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
        let (nics, disks) = (vec![nic; 300], vec![disk; 300]);
        let kernel = KernelCounts { nics, disks, busy_ticks: all, ticks: all, resent: all };
        NodeView { at_ns: all, kernel, account, silent: u32::MAX }
    }

    #[test]
    fn the_longest_view_fits_in_a_message_and_the_rest_is_counted() {
        let mut view = most();
        view.bound();
        let (shown, lanes) = (view.account.jobs.len(), |view: &NodeView| -> usize {
            view.account.copies.iter().map(|copy| copy.lanes.len()).sum()
        });
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
