//! Messages of the disk/net balance test, which copies from a node's own disk. The agent makes a file, acts
//! as the feeder in copies of it (the head decides), and reports the node's use of resources.

use serde::{Deserialize, Serialize};

use super::begin::Begin;
use super::copy_id::CopyId;
use super::disk::{DiskCached, DiskPlace};
use super::route::Route;
use super::stream::TxStats;
use garland_core::plan::HEAD;

/// The least and the most bytes that a copied file may have.
pub const BALANCE_SIZES: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 46;

/// What an agent has to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum BalanceOrder {
    /// Make a file for all copies to come, and leave room for one as long.
    Stock {
        /// The directory, in the system's bytes.
        path: Vec<u8>,
        /// Its length.
        size: u64,
    },
    /// Have none of the file's first bytes in the page cache, or all of them; what the node does is
    /// accounted for from then on.
    Prepare {
        /// How many bytes; 0 on a node that feeds nothing now.
        size: u64,
        /// Whether none or all.
        cold: bool,
    },
    /// Take the head's place in a copy of the file's first bytes, as the layout says. Its
    /// destination isn't looked at.
    Feed(Box<Begin>),
    /// The first hop of a copy that it feeds has changed.
    Route(CopyId, Route),
    /// A copy that it feeds is over.
    End(CopyId),
    /// What has the node done since it was prepared?
    Account,
}

/// From the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BalanceEvent {
    /// The file is there; what about the node may change what copies take, in names and words.
    Stocked(Box<DiskPlace>, Vec<(String, String)>),
    /// The page cache is as ordered; its share of the file, if known.
    Prepared(Option<DiskCached>),
    /// News of a copy that it feeds.
    Fed(CopyId, FeedEvent),
    /// What the node has done since it was prepared.
    Account(NodeUse),
    /// What was ordered can't be done, in words.
    Failed(String),
}

/// News of a copy from the node that feeds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FeedEvent {
    /// All blocks have been read, and have this digest.
    Read([u8; 32]),
    /// A link broke or couldn't be opened: lane, epoch, reason.
    LinkLost(u16, u32, String),
    /// A frame came in changed: lane, epoch.
    BadFrame(u16, u32),
    /// It can't be fed on.
    Failed(String),
    /// It is over here; the kernel's account of its lanes, as far as these are TCP.
    Ended(Vec<TxStats>),
}

/// What a node has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeUse {
    /// In how many nanoseconds.
    pub elapsed_ns: u64,
    /// Nanoseconds in which copies read, wrote or made stable at least one thing on its disk.
    pub disk_ns: u64,
    /// CPU nanoseconds of its agent.
    pub agent_ns: u64,
    /// Nanoseconds that the busiest thread of its copies was awake: on a CPU, or waiting for one.
    pub awake_ns: u64,
    /// Thousandths of the time in which the machine's processors weren't idle.
    pub busy: u16,
    /// How many of these the agent may use.
    pub processors: u16,
}

impl BalanceOrder {
    /// Whether an agent can do it without harm.
    ///
    /// # Errors
    /// What is out of bounds, in words.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Stock { size, .. } if !BALANCE_SIZES.contains(size) => {
                let (least, most) = BALANCE_SIZES.into_inner();
                Err(format!("a file of {size} bytes: allowed are {least} to {most}"))
            }
            Self::Feed(begin) => {
                begin.check()?;
                if begin.me != HEAD {
                    return Err("who feeds a copy has the head's place in it".to_owned());
                }
                if begin.layout.length > *BALANCE_SIZES.end() {
                    return Err(format!("a copy of {} bytes", begin.layout.length));
                }
                Ok(())
            }
            Self::Stock { .. }
            | Self::Prepare { .. }
            | Self::Route(..)
            | Self::End(_)
            | Self::Account => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Destination, DigestKey, End, Secret};
    use garland_core::plan::{Layout, NodeId};

    #[test]
    fn orders_out_of_bounds_are_refused() {
        let stock = |size| BalanceOrder::Stock { path: b"/x".to_vec(), size };
        assert_eq!(stock(1 << 20).check(), Ok(()));
        assert!(stock(0).check().unwrap_err().contains("0 bytes"));
        assert!(stock(u64::MAX).check().is_err());
        let feed = |me, length, lanes| {
            let begin = Begin {
                digest_key: DigestKey::Check([0; 32]),
                copy: CopyId([0; 16]),
                secret: Secret([0; 32]),
                sealed: true,
                layout: Layout::fitting(length),
                lanes,
                me,
                end: End::Sink(Destination::Null),
                stripe: None,
                known: None,
                buffers: 0,
                acknowledge: false,
                routes: Vec::new(),
                congestion: Vec::new(),
                mptcp: false,
                pace: 0,
                read_back: crate::ReadBack::default(),
                trace: 0,
                injections: Vec::new(),
            };
            BalanceOrder::Feed(Box::new(begin))
        };
        let lane = || vec![garland_core::plan::LaneBlocks { first: 0, run: 1, step: 1, end: 16 }];
        assert_eq!(feed(HEAD, 1 << 20, lane()).check(), Ok(()));
        assert!(feed(NodeId(1), 1 << 20, lane()).check().unwrap_err().contains("head's place"));
        assert!(feed(HEAD, 1 << 20, Vec::new()).check().unwrap_err().contains("0 lanes"));
        assert!(feed(HEAD, 1 << 47, lane()).check().is_err());
    }
}
