//! The comparison of what nodes have with the source of a copy.

use garland_core::index_set::IndexSet;
use garland_core::plan::LaneBlocks;

use super::interface::{AgentEvent, Operation, Orders};
use super::shared_reads::{Parts, SharedDigests};
use super::unchanged::{NodeChanges, Unchanged};
use crate::copy::{
    Compare, CompareBy, CompareOrder, Compared, DIGESTS_MAX, SharedPart, root_digest,
};
use crate::{FromAgent, ToAgent};

/// Time without progress after which a node's comparison is given up, in nanoseconds; the node then
/// receives the whole source.
const PATIENCE_NS: u64 = 30_000_000_000;

/// The rate in bytes per second at which a node compares at least what it has, once it is waited
/// for.
const SLOWEST_COMPARISON: u64 = 50_000_000;

/// The catalogue of a tree is sent only if its length times the number of nodes is at most the
/// tree's length divided by this number; otherwise the tree itself is sent.
const CATALOGUE_SHARE: u64 = 4;

/// To compare by status, the catalogue may be longer by this number of bytes for each record: an
/// entry that is left out need not be read, sent, created and renamed, which takes a node some 30
/// µs. In that time a wire of 1 Gbit/s carries almost 4 KiB.
const ENTRY_WORTH: u64 = 1024;

/// A source that nodes can read themselves.
pub struct SharedSource {
    /// The path of the source (raw bytes).
    pub path: Vec<u8>,
    /// The modification time in seconds and nanoseconds.
    pub modified: (i64, u32),
    /// The part of the source that each node reads, in the order of nodes; `None` for a node that
    /// reads nothing.
    pub parts: Vec<Option<LaneBlocks>>,
}

/// The state of a node's comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// The node examines its destination, and will report what it has.
    Examining,
    /// The node waits for the tree's catalogue.
    Wanting,
    /// The node receives the tree's catalogue: the number of messages sent so far.
    ReceivingCatalogue(usize),
    /// The node has a file or the remains of a copy, and waits for the digests of the source: the
    /// file's length, and its root digest.
    Found(Option<u64>, [u8; 32]),
    /// The node receives the digests of the source: the number of digests sent so far.
    ReceivingDigests(usize),
    /// No further message of the node is expected.
    Over,
}

/// Asks nodes what they have, and sends them what they need to find out: the catalogue of a tree,
/// and the digests of the source. The driver makes these when the comparison needs them.
pub struct Comparison<'a> {
    compare: &'a Compare,
    shared: Option<&'a SharedSource>,
    stands: Vec<Stand>,
    /// The time of each node's last progress, in monotonic nanoseconds.
    progress_ns: Vec<u64>,
    /// The time since which the copy waits for a node while most others are ready, in monotonic
    /// nanoseconds; `None` for a node that is not waited for.
    awaited_ns: Vec<Option<u64>>,
    digests: Option<Vec<[u8; 32]>>,
    /// The parcels of the tree's catalogue, once known; `Some(None)` if there is none, or it is too
    /// large to be sent.
    catalogue: Option<Option<Vec<Vec<u8>>>>,
    unusable: Vec<usize>,
    /// Whether a node has something at the destination.
    found_something: bool,
    /// The records that are unchanged on all nodes, if they are compared by status.
    unchanged: Option<Unchanged>,
    parts: Parts,
    /// For each node, since when it works, in monotonic nanoseconds; `None` while it does not.
    works_since_ns: Vec<Option<u64>>,
    work: Vec<ComparisonWork>,
    stopped: bool,
}

/// A period in which a node, or the head, worked for a comparison: it read and digested files, or
/// looked at their status. Times are in monotonic nanoseconds of the head, so a node's period
/// includes the transfer of its order and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparisonWork {
    /// The node's index; `None` for the head.
    pub node: Option<usize>,
    /// The start of the period.
    pub begin_ns: u64,
    /// The end of the period.
    pub end_ns: u64,
}

/// What a comparison found.
#[derive(Debug)]
pub struct ComparisonEnd {
    /// Who worked when, each period once it was over.
    pub work: Vec<ComparisonWork>,
    /// The digests of the source's blocks; `None` if they were not needed.
    pub digests: Option<Vec<[u8; 32]>>,
    /// Indexes of nodes whose partial file of an interrupted copy has no block of this source.
    pub unusable: Vec<usize>,
    /// Whether a node has something of the source, or in its place: else no other comparison finds
    /// anything either.
    pub found_something: bool,
    /// Indexes of nodes that did not read their part of a shared source, and why.
    pub unread: Vec<(usize, String)>,
    /// The records of the tree that are unchanged on all nodes by status; `None` if there are none,
    /// or if contents were compared.
    pub unchanged: Option<IndexSet>,
    /// What the copy changes on each node, in the order of nodes; `None` if nodes were not asked
    /// for it. A node that did not report has nothing unchanged.
    pub changes: Option<Vec<NodeChanges>>,
}

impl SharedSource {
    /// Returns the part of the source that the node with this index reads; `None` if it reads
    /// nothing.
    fn part(&self, node: usize) -> Option<SharedPart> {
        let blocks = self.parts.get(node).copied().flatten()?;
        Some(SharedPart { path: self.path.clone(), modified: self.modified, blocks })
    }
}

impl<'a> Comparison<'a> {
    /// Creates the comparison of `count` nodes, which has not begun. `shared` is the source, if
    /// nodes can read it themselves.
    #[must_use]
    pub fn new(compare: &'a Compare, shared: Option<&'a SharedSource>, count: usize) -> Self {
        let parts = shared.into_iter().flat_map(|shared| shared.parts.iter().enumerate());
        let by_status = match (&compare.tree, compare.by) {
            (Some(outline), CompareBy::Status { named, .. }) => {
                Some(Unchanged::new(outline.records, count, named))
            }
            _ => None,
        };
        Self {
            compare,
            shared,
            stands: vec![Stand::Examining; count],
            progress_ns: vec![0; count],
            awaited_ns: vec![None; count],
            digests: None,
            catalogue: None,
            unusable: Vec::new(),
            found_something: false,
            unchanged: by_status,
            parts: Parts::new(parts.filter_map(|(node, blocks)| Some((node, (*blocks)?)))),
            works_since_ns: vec![None; count],
            work: Vec::new(),
            stopped: false,
        }
    }

    /// Returns whether to make the catalogue of the source now.
    #[must_use]
    pub fn needs_catalogue(&self) -> bool {
        self.stands.contains(&Stand::Wanting)
    }

    /// Sets the catalogue of the source, in parcels; `None` if there is none. It is not sent unless
    /// it is small enough.
    pub fn set_catalogue(&mut self, parcels: Option<Vec<Vec<u8>>>) {
        let nodes = self.stands.len() as u64;
        let length = self.compare.layout.length;
        let bytes = |parcels: &[Vec<u8>]| parcels.iter().map(|it| it.len() as u64).sum::<u64>();
        let records = self.compare.tree.as_ref().map_or(0, |outline| u64::from(outline.records));
        let worth = self.unchanged.as_ref().map_or(0, |_| records * ENTRY_WORTH);
        let most = (length / CATALOGUE_SHARE).saturating_add(worth);
        let is_named = self.unchanged.as_ref().is_some_and(Unchanged::is_named);
        let pays = |parcels: &[Vec<u8>]| is_named || bytes(parcels).saturating_mul(nodes) <= most;
        self.catalogue = Some(parcels.filter(|parcels| pays(parcels)));
        self.answer_wanting();
    }

    /// Returns the digests that nodes reported of a shared source. `draw` is a random number, by
    /// which the blocks are chosen that the head reads, too.
    #[must_use]
    pub fn reported(&self, draw: u64) -> SharedDigests {
        self.parts.reported(self.compare.layout, draw)
    }

    /// Sets the digests of all blocks of the source.
    pub fn set_digests(&mut self, digests: Vec<[u8; 32]>) {
        self.digests = Some(digests);
    }

    /// Adds a period in which the head read and digested the source, or listed it.
    pub fn add_own_work(&mut self, begin_ns: u64, end_ns: u64) {
        self.work.push(ComparisonWork { node: None, begin_ns, end_ns });
    }

    /// Ends the comparison: the source cannot be read.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Returns what the comparison found.
    #[must_use]
    pub fn into_end(mut self) -> ComparisonEnd {
        let unread = self.parts.unread(self.digests.as_deref());
        // A node that has not reported may have none of them.
        let are_over = self.stands.iter().all(|stand| *stand == Stand::Over);
        let changes = self.unchanged.as_mut().and_then(Unchanged::take_changes);
        let unchanged = self.unchanged.filter(|_| are_over).and_then(Unchanged::into_set);
        ComparisonEnd {
            work: self.work,
            digests: self.digests,
            unusable: self.unusable,
            found_something: self.found_something,
            unread,
            unchanged,
            changes,
        }
    }

    /// Begins to send the catalogue to the nodes that wait for it, or ends their comparison, once
    /// it is known whether the catalogue is sent. It is not if another node has shown that no entry
    /// is unchanged on all nodes.
    fn answer_wanting(&mut self) {
        let is_vain = self.unchanged.as_ref().is_some_and(Unchanged::is_vain);
        let known = self.catalogue.as_ref().map(Option::is_some);
        let Some(is_sent) = (if is_vain { Some(false) } else { known }) else { return };
        for node in 0..self.stands.len() {
            match self.stands[node] {
                Stand::Wanting if is_sent => self.stands[node] = Stand::ReceivingCatalogue(0),
                Stand::Wanting => {
                    self.unchanged.iter_mut().for_each(|unchanged| unchanged.fail(node));
                    self.end(node);
                }
                _ => {}
            }
        }
    }

    /// Ends the comparison of a node. If the node has not reported all digests of its part of a
    /// shared source, this part counts as failed.
    fn end(&mut self, node: usize) {
        self.stands[node] = Stand::Over;
        self.parts.fail(node, "it did not report its digests".to_owned());
    }

    /// Ends the comparison of a node that has nothing of the source, or is missing. Then no entry
    /// of a tree is unchanged on all nodes, and nodes that wait for the catalogue need none.
    fn find_nothing(&mut self, node: usize) {
        self.end(node);
        if let Some(unchanged) = &mut self.unchanged {
            unchanged.fail(node);
            self.answer_wanting();
        }
    }

    /// Returns whether to compute the digests of the source now: once no part is still being read
    /// by a node, and there is a catalogue to send or a node that waits for digests.
    #[must_use]
    pub fn needs_digests(&self) -> bool {
        if self.unchanged.is_some() || self.shared.is_some() && !self.parts.are_settled() {
            return false;
        }
        // While a node with the catalogue reads its files, compute the digests at the same time.
        let listed = self.catalogue.as_ref().is_some_and(Option::is_some);
        listed || self.stands.iter().any(|stand| matches!(stand, Stand::Found(..)))
    }

    /// Decides which nodes have the whole source already. The others will be sent the digests.
    fn judge(&mut self) {
        let waiting = self.stands.iter().any(|stand| matches!(stand, Stand::Found(..)));
        let Some(digests) = self.digests.as_ref().filter(|_| waiting) else { return };
        let length = self.compare.layout.length;
        let root = root_digest(digests);
        for stand in &mut self.stands {
            match *stand {
                Stand::Found(Some(has), of) if has == length && of == root => {
                    *stand = Stand::Over;
                }
                Stand::Found(..) => *stand = Stand::ReceivingDigests(0),
                _ => {}
            }
        }
    }

    /// Sends the next part of the catalogue or of the digests to each node to which all previous
    /// messages have been sent.
    fn send_parcels(&mut self, orders: &mut Orders) {
        let parcels = self.catalogue.as_ref().and_then(Option::as_deref).unwrap_or_default();
        let digests = self.digests.as_deref().unwrap_or_default();
        for (node, stand) in self.stands.iter_mut().enumerate() {
            let order = match stand {
                Stand::ReceivingCatalogue(sent) if *sent == parcels.len() => {
                    *stand = Stand::Examining;
                    continue;
                }
                Stand::ReceivingCatalogue(sent) if orders.has_room(node) => {
                    *sent += 1;
                    CompareOrder::Catalogue(parcels[*sent - 1].clone(), *sent < parcels.len())
                }
                Stand::ReceivingDigests(sent) if *sent < digests.len() && orders.has_room(node) => {
                    let next = (*sent + DIGESTS_MAX).min(digests.len());
                    let parcel = digests[*sent..next].to_vec();
                    *sent = next;
                    CompareOrder::Digests(parcel, next < digests.len())
                }
                _ => continue,
            };
            orders.send(node, ToAgent::Compare(order));
        }
    }

    /// Whether the copy waits for the node: to report what it has or reads, or to take what it is
    /// sent.
    fn is_awaited(&self, node: usize) -> bool {
        match self.stands[node] {
            Stand::Examining | Stand::ReceivingCatalogue(_) | Stand::ReceivingDigests(_) => true,
            Stand::Found(..) | Stand::Wanting => self.parts.is_pending(node),
            Stand::Over => false,
        }
    }

    /// Begins and ends the periods in which nodes work, by what each is awaited for now.
    fn note_work(&mut self, now_ns: u64) {
        for node in 0..self.stands.len() {
            match (self.works_since_ns[node], self.is_awaited(node)) {
                (None, true) => self.works_since_ns[node] = Some(now_ns),
                (Some(begin_ns), false) => {
                    self.works_since_ns[node] = None;
                    self.work.push(ComparisonWork { node: Some(node), begin_ns, end_ns: now_ns });
                }
                _ => {}
            }
        }
    }

    /// Gives up the comparison of nodes that make no progress, and of those that go on and on while
    /// at least half of all nodes are ready: a node's word that it is reading does not hold up the
    /// others for ever.
    fn give_up(&mut self, now_ns: u64) {
        let count = self.stands.len();
        let awaited = (0..count).filter(|node| self.is_awaited(*node)).count();
        let are_most_ready = 2 * awaited <= count;
        let seconds = self.compare.layout.length / SLOWEST_COMPARISON;
        let longest_ns = seconds.saturating_mul(1_000_000_000).saturating_add(PATIENCE_NS);
        for node in 0..count {
            if !self.is_awaited(node) || matches!(self.stands[node], Stand::ReceivingCatalogue(_)) {
                // The node waits for the head, or for room on its connection.
                self.progress_ns[node] = now_ns;
            }
            let is_awaited = are_most_ready && self.is_awaited(node);
            let since_ns = self.awaited_ns[node].filter(|_| is_awaited).unwrap_or(now_ns);
            self.awaited_ns[node] = is_awaited.then_some(since_ns);
            let is_late = now_ns.saturating_sub(self.progress_ns[node]) > PATIENCE_NS
                || now_ns.saturating_sub(since_ns) > longest_ns;
            if is_late && self.stands[node] != Stand::Over {
                self.find_nothing(node);
            }
        }
    }
}

impl Operation for Comparison<'_> {
    fn begin(&mut self, now_ns: u64, orders: &mut Orders) {
        self.progress_ns.fill(now_ns);
        for node in 0..self.stands.len() {
            let shared = self.shared.and_then(|shared| shared.part(node));
            let compare = Compare { shared, ..self.compare.clone() };
            orders.send(node, ToAgent::Compare(CompareOrder::Stat(compare)));
        }
        self.note_work(now_ns);
    }

    fn handle(&mut self, now_ns: u64, node: usize, event: AgentEvent, _: &mut Orders) {
        self.take(now_ns, node, event);
        self.note_work(now_ns);
    }

    fn tick(&mut self, now_ns: u64, orders: &mut Orders) {
        self.judge();
        self.send_parcels(orders);
        self.give_up(now_ns);
        self.note_work(now_ns);
    }

    fn is_over(&self) -> bool {
        self.stopped || self.stands.iter().all(|stand| *stand == Stand::Over)
    }
}

impl Comparison<'_> {
    /// Takes a node's answer, or the loss of its agent.
    fn take(&mut self, now_ns: u64, node: usize, event: AgentEvent) {
        let answer = match event {
            AgentEvent::Message(FromAgent::Compared(answer)) => answer,
            AgentEvent::Message(_) => return,
            // It may come later during the copy, and needs the whole source then.
            AgentEvent::Lost(_) => return self.find_nothing(node),
        };
        // A message that brings nothing new is no progress.
        let is_progress = match (self.stands[node], answer) {
            (_, Compared::Reading) => true,
            (Stand::Examining, Compared::Found { length, root }) => {
                self.found_something = true;
                self.stands[node] = Stand::Found(length, root);
                true
            }
            (Stand::Examining, Compared::Wants) => {
                self.found_something = true;
                self.stands[node] = Stand::Wanting;
                self.answer_wanting();
                true
            }
            (Stand::Examining, Compared::Nothing) => {
                self.find_nothing(node);
                true
            }
            (Stand::Examining, Compared::Unchanged(piece, more)) => {
                let Some(unchanged) = &mut self.unchanged else { return };
                let is_new = unchanged.take(node, &piece, more);
                if !more {
                    self.end(node);
                }
                is_new
            }
            (Stand::Examining, Compared::Surplus(paths, unnamed)) => {
                let Some(unchanged) = &mut self.unchanged else { return };
                unchanged.take_surplus(node, paths, unnamed)
            }
            (_, Compared::Part(digests, more)) => self.parts.take(node, digests, more),
            (_, Compared::Unseen(reason)) => {
                self.parts.fail(node, reason);
                false
            }
            (Stand::ReceivingDigests(_), Compared::Has { left, .. }) => {
                self.end(node);
                if left == Some(0) {
                    self.unusable.push(node);
                }
                true
            }
            _ => false,
        };
        if is_progress {
            self.progress_ns[node] = now_ns;
        }
    }
}

#[cfg(test)]
mod tests;
