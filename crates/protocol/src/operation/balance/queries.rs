//! What each node is asked before the rounds of a balance test, and before and after the copies of
//! a round.

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::query::Query;
use super::job::RoundJob;
use crate::measure::{BalanceEvent, BalanceOrder, DiskCached, DiskPlace, NodeUse};
use crate::{FromAgent, ToAgent};

/// The rate in bytes per second below which a disk is considered to hang.
const HANGING_DISK_RATE: u64 = 2_000_000;

/// Time allowed for an order, in addition to the time for its bytes at the rate
/// `HANGING_DISK_RATE`.
const GRACE: Duration = Duration::from_secs(30);

/// The test file that was created on a node.
#[derive(Clone, Debug)]
pub struct PreparedFile {
    /// The disk on which the file is.
    pub place: DiskPlace,
    /// Conditions of the node that may affect the rate of copies: names and values.
    pub conditions: Vec<(String, String)>,
}

/// Creates a file of `size` bytes in the directory `path` on each of `nodes`.
#[must_use]
pub fn stock(nodes: &[usize], path: &[u8], size: u64) -> Query<'static, PreparedFile> {
    let order = |_| BalanceOrder::Stock { path: path.to_vec(), size };
    ask(nodes.iter().copied(), order, patience(size), |event| match event {
        BalanceEvent::Stocked(place, conditions) => {
            Some(PreparedFile { place: *place, conditions })
        }
        _ => None,
    })
}

/// Drops the files of a round from the page cache, or reads them into the cache. The answer is the
/// cached part of a node's file, if it is known.
#[must_use]
pub fn prepare(job: &RoundJob) -> Query<'static, Option<DiskCached>> {
    let order = |node| {
        let feeds = job.errands.iter().any(|errand| errand.from == node);
        BalanceOrder::Prepare { size: if feeds { job.layout.length } else { 0 }, cold: job.cold }
    };
    ask(nodes_of(job), order, patience(job.layout.length), |event| match event {
        BalanceEvent::Prepared(cached) => Some(cached),
        _ => None,
    })
}

/// Requests the resources that the nodes of a round used since [`prepare`].
#[must_use]
pub fn account(job: &RoundJob) -> Query<'static, NodeUse> {
    ask(
        nodes_of(job),
        |_| BalanceOrder::Account,
        GRACE,
        |event| match event {
            BalanceEvent::Account(account) => Some(account),
            _ => None,
        },
    )
}

/// Returns the timeout for an order that reads or writes `size` bytes.
pub(super) fn patience(size: u64) -> Duration {
    GRACE.saturating_add(Duration::from_secs(size / HANGING_DISK_RATE))
}

fn nodes_of(job: &RoundJob) -> BTreeSet<usize> {
    job.errands.iter().flat_map(|errand| [errand.from, errand.to]).collect()
}

/// Sends `order(node)` to each of `nodes`. `answer` converts an event to an answer, or ignores it.
fn ask<T>(
    nodes: impl IntoIterator<Item = usize>,
    order: impl Fn(usize) -> BalanceOrder,
    patience: Duration,
    answer: impl Fn(BalanceEvent) -> Option<T> + 'static,
) -> Query<'static, T> {
    let orders = nodes.into_iter().map(|node| (node, ToAgent::Balance(order(node))));
    let late = format!("its disk hangs: no answer for {} s", patience.as_secs());
    Query::new(orders, Some((patience, late)), move |_, message| match message {
        FromAgent::Balance(BalanceEvent::Failed(reason)) => Some(Err(reason)),
        FromAgent::Balance(event) => answer(event).map(Ok),
        _ => None,
    })
}
