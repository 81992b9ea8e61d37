//! Messages of the balance test. A node's agent creates a file, copies it to other nodes as the
//! head orders, and reports the resources that the node used.

use garland_core::plan::HEAD;
use serde::{Deserialize, Serialize};

use crate::bounds::{self, ensure, within};
use crate::copy::Begin;
use crate::copy::CopyId;
use crate::copy::Route;
use crate::measure::disk::{DiskCached, DiskPlace};
use crate::measure::stream::TxStats;

/// The allowed lengths of a copied file in bytes.
pub const BALANCE_SIZES: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 46;

/// An order to an agent in a balance test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum BalanceOrder {
    /// Create the file that all following copies read. Fails unless the disk has space for a second
    /// file of the same length.
    Stock {
        /// The directory to create the files in (raw bytes).
        path: Vec<u8>,
        /// The length of the file in bytes.
        size: u64,
    },
    /// Evict the first bytes of the file from the page cache, or read all of them into it. The
    /// accounting of the node's resources starts here.
    Prepare {
        /// The number of bytes; 0 on a node that feeds no copy now.
        size: u64,
        /// Whether to evict the bytes (true) or to read them in (false).
        cold: bool,
    },
    /// Feed a copy of the file's first bytes, in place of the head. Their number is the length of
    /// the layout; the destination is ignored.
    Feed(Box<Begin>),
    /// The first hop of a copy that this agent feeds has changed.
    Route(CopyId, Route),
    /// A copy that this agent feeds is over.
    End(CopyId),
    /// Report the resources that the node used since `Prepare`.
    Account,
}

/// An agent's message in a balance test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BalanceEvent {
    /// The file was created on this disk. The pairs are conditions of the node that may affect
    /// copies: names and values.
    Stocked(Box<DiskPlace>, #[serde(deserialize_with = "bounds::facts")] Vec<(String, String)>),
    /// The page cache was prepared; contains the cached part of the file, if known.
    Prepared(Option<DiskCached>),
    /// An event of a copy that this agent feeds.
    Fed(CopyId, FeedEvent),
    /// The resources that the node used since `Prepare`.
    Account(NodeUse),
    /// An order failed, and why.
    Failed(#[serde(deserialize_with = "bounds::reason")] String),
}

/// An event of a copy, from the node that feeds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FeedEvent {
    /// All blocks have been read; this is their digest.
    Read([u8; 32]),
    /// A link broke, or could not be opened: lane, epoch, reason.
    LinkLost(u16, u32, #[serde(deserialize_with = "bounds::reason")] String),
    /// A corrupt frame arrived: lane, epoch.
    BadFrame(u16, u32),
    /// The node cannot continue to feed the copy, and why.
    Failed(#[serde(deserialize_with = "bounds::reason")] String),
    /// The copy is over on this node; contains the kernel's statistics of each lane that uses TCP.
    Ended(Vec<TxStats>),
}

/// The resources that a node used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeUse {
    /// The length of the accounted time in nanoseconds.
    pub elapsed_ns: u64,
    /// Nanoseconds in which the node's disk had at least one read, write or sync of a copy in
    /// progress.
    pub disk_ns: u64,
    /// The CPU time of the agent in nanoseconds.
    pub agent_ns: u64,
    /// Nanoseconds in which the busiest thread of the copies was runnable: on a CPU, or waiting for
    /// one.
    pub awake_ns: u64,
    /// The share of the time in which the machine's processors were busy, in thousandths.
    pub busy: u16,
    /// The number of processors that the agent may use.
    pub processors: u16,
}

impl BalanceOrder {
    /// Checks that every number from the wire is within bounds, before any is used.
    ///
    /// # Errors
    /// Names the value that is out of bounds.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Stock { size, .. } => within("bytes in a file", *size, BALANCE_SIZES),
            Self::Feed(begin) => {
                begin.check()?;
                let not_head = || "the node that feeds a copy must be the head of the copy's plan";
                ensure(begin.me == HEAD, not_head)?;
                within("bytes in a copy", begin.layout.length, 0..=*BALANCE_SIZES.end())
            }
            Self::Prepare { .. } | Self::Route(..) | Self::End(_) | Self::Account => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use garland_core::plan::{Layout, NodeId};

    use super::*;
    use crate::copy::{Destination, DigestKey, End};
    use crate::wire::Secret;

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
                read_back: crate::copy::ReadBack::default(),
                trace: 0,
                absence_max: 0,
                injections: Vec::new(),
            };
            BalanceOrder::Feed(Box::new(begin))
        };
        let lane = || vec![garland_core::plan::LaneBlocks { first: 0, run: 1, step: 1, end: 16 }];
        assert_eq!(feed(HEAD, 1 << 20, lane()).check(), Ok(()));
        assert!(feed(NodeId(1), 1 << 20, lane()).check().unwrap_err().contains("the head of the"));
        assert!(feed(HEAD, 1 << 20, Vec::new()).check().unwrap_err().contains("0 lanes"));
        assert!(feed(HEAD, 1 << 47, lane()).check().is_err());
    }
}
