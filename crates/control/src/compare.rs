//! The head's side of a comparison, which finds the parts of a copy that nodes already have.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::Scope;

use garland_core::plan::{LaneBlocks, Layout};
use garland_protocol::{
    Compare, CompareOrder, Compared, DIGESTS_MAX, FromAgent, SharedPart, ToAgent, content_digest,
    root_digest,
};
use garland_sys::event::Wake;
use garland_sys::signal::Interrupts;
use garland_sys::threads;

use crate::agent_set::AgentEvent;
use crate::copy::Agent;
use crate::session::{Operation, Orders, Session};
use crate::shared_reads::{Parts, SharedDigests};
use garland_dataplane::block_index::Records;
use garland_dataplane::block_index::holding::digest_all;
use garland_dataplane::source::{Content, Source};
use garland_dataplane::tree::{Catalogue, TreeSource};

/// Time without progress after which a node's comparison is given up, in nanoseconds; the node then
/// receives the whole source.
const PATIENCE_NS: u64 = 30_000_000_000;

/// The number of threads that read and digest the source.
const THREADS: usize = 4;

/// The catalogue of a tree is sent only if its length times the number of nodes is at most the
/// tree's length divided by this number; otherwise the tree itself is sent.
const CATALOGUE_SHARE: u64 = 4;

/// The source of the copy.
pub enum CompareSource<'a> {
    /// A file, and the records of files of this machine.
    File(&'a Source, &'a Records),
    /// Directories.
    Tree(&'a TreeSource),
}

/// The parameters of a comparison.
pub struct CompareRequest<'a> {
    /// The destination to compare.
    pub compare: Compare,
    /// The source of the copy.
    pub asked: CompareSource<'a>,
    /// The path and parts of the source for nodes that can read it themselves; none if they cannot.
    pub shared: Option<Shared>,
    /// Interrupts by the user.
    pub interrupts: Option<&'a Interrupts>,
}

/// A source which nodes can read themselves.
pub struct Shared {
    /// The path, as bytes.
    pub path: Vec<u8>,
    /// The modification time in seconds and nanoseconds.
    pub modified: (i64, u32),
    /// The part of the source that each node reads, in the order of nodes; none for a node that
    /// reads nothing.
    pub parts: Vec<Option<LaneBlocks>>,
}

/// The result of a comparison.
pub struct CompareOutcome {
    /// The agent or error of each node, in the order of nodes.
    pub agents: Vec<Result<Agent, String>>,
    /// The digests of the source's blocks; none if no node has a similar file.
    pub digests: Option<Vec<[u8; 32]>>,
    /// Indexes of nodes whose partial file of an interrupted copy has no block of this source.
    pub unusable: Vec<usize>,
    /// Indexes of nodes that did not read their part of a shared source, and why.
    pub unread: Vec<(usize, String)>,
}

/// The state of a node's comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// The node examines its destination.
    Examining,
    /// The node receives the tree's catalogue: the number of messages sent so far.
    ReceivingCatalogue(usize),
    /// The node has a file: its length, and its root digest.
    Found(Option<u64>, [u8; 32]),
    /// The node receives the digests of the source: the number sent so far.
    ReceivingDigests(usize),
    /// No further message of the node is expected.
    Over,
}

/// The decisions of a comparison.
struct Comparison<'a> {
    compare: &'a Compare,
    shared: Option<&'a Shared>,
    /// Lists the files of a tree.
    list: &'a dyn Fn() -> Option<Catalogue>,
    stands: Vec<Stand>,
    /// The time of each node's last progress.
    progress_ns: Vec<u64>,
    digests: Option<Vec<[u8; 32]>>,
    /// The catalogue of a tree, once a node needs it; `Some(None)` if it is too large.
    catalogue: Option<Option<Catalogue>>,
    unusable: Vec<usize>,
    /// The parts of a shared source.
    parts: Parts,
    stopped: bool,
}

/// Finds the parts of a copy that the nodes of `agents` already have.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn compare(
    agents: Vec<Result<Agent, String>>,
    request: &CompareRequest<'_>,
) -> io::Result<CompareOutcome> {
    let (wake, stop) = (Wake::new()?, AtomicBool::new(false));
    let list = || match request.asked {
        CompareSource::File(..) => None,
        CompareSource::Tree(tree) => tree.catalogue(),
    };
    let (shared, count) = (request.shared.as_ref(), agents.len());
    let comparison = Comparison::new(&request.compare, shared, count, &list);
    let mut session = Session::new(agents, request.interrupts).with_wakes([wake.as_fd()]);
    let Comparison { digests, unusable, parts, .. } = std::thread::scope(|scope| {
        let mut coming = None;
        let comparison = session.run(comparison, &mut |comparison| {
            wake.lower();
            if coming.is_none() && comparison.needs_digests() {
                let parts = comparison.parts.reported(request.compare.layout);
                coming = Some(digest(scope, request, parts, &wake, &stop));
            }
            match coming.as_ref().map(Receiver::try_recv) {
                Some(Ok(Ok(digests))) => comparison.digests = Some(digests),
                // A source that cannot be read cannot be copied: the copy reports why.
                Some(Ok(Err(_))) => comparison.stopped = true,
                Some(Err(_)) | None => {}
            }
        });
        // If digests are still being computed, they are not needed.
        stop.store(true, Ordering::Relaxed);
        comparison
    })?;
    let unread = parts.unread(digests.as_deref());
    Ok(CompareOutcome { agents: session.into_agents().collect(), digests, unusable, unread })
}

impl Shared {
    /// Returns the part of the node with this index.
    fn part(&self, node: usize) -> Option<SharedPart> {
        let blocks = self.parts.get(node).copied().flatten()?;
        Some(SharedPart { path: self.path.clone(), modified: self.modified, blocks })
    }
}

impl<'a> Comparison<'a> {
    fn new(
        compare: &'a Compare,
        shared: Option<&'a Shared>,
        count: usize,
        list: &'a dyn Fn() -> Option<Catalogue>,
    ) -> Self {
        let parts = shared.into_iter().flat_map(|shared| shared.parts.iter().enumerate());
        Self {
            compare,
            shared,
            list,
            stands: vec![Stand::Examining; count],
            progress_ns: vec![0; count],
            digests: None,
            catalogue: None,
            unusable: Vec::new(),
            parts: Parts::new(parts.filter_map(|(node, blocks)| Some((node, (*blocks)?)))),
            stopped: false,
        }
    }

    /// Ends the comparison of a node. It reports no more digests of a shared source.
    fn end(&mut self, node: usize) {
        self.stands[node] = Stand::Over;
        self.parts.fail(node, "it did not report its digests".to_owned());
    }

    /// Returns whether the digests of the source are needed: a node waits for them, and all parts that
    /// nodes read have been reported.
    fn needs_digests(&self) -> bool {
        if self.shared.is_some() && !self.parts.are_settled() {
            return false;
        }
        // While a node with the catalogue reads its files, compute the digests at the same time.
        let listed = self.catalogue.as_ref().is_some_and(Option::is_some);
        listed || self.stands.iter().any(|stand| matches!(stand, Stand::Found(..)))
    }

    /// Decides which nodes have the whole source already; the others are sent the digests.
    fn judge(&mut self) {
        let waiting = self.stands.iter().any(|stand| matches!(stand, Stand::Found(..)));
        let Some(digests) = self.digests.as_ref().filter(|_| waiting) else { return };
        let (length, root) = (self.compare.layout.length, root_digest(digests));
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

    /// Sends the next parts of the catalogue to the nodes which have processed the previous ones.
    fn send_catalogue(&mut self, orders: &mut Orders) {
        let wanted = |stand: &Stand| matches!(stand, Stand::ReceivingCatalogue(_));
        if !self.stands.iter().any(wanted) {
            return;
        }
        let nodes = self.stands.len() as u64;
        let length = self.compare.layout.length;
        let pays = |it: &Catalogue| it.packed().saturating_mul(nodes) <= length / CATALOGUE_SHARE;
        let catalogue = self.catalogue.get_or_insert_with(|| (self.list)().filter(pays));
        let Some(catalogue) = catalogue else {
            let wanting = (0..self.stands.len()).filter(|&node| wanted(&self.stands[node]));
            return wanting.collect::<Vec<_>>().into_iter().for_each(|node| self.end(node));
        };
        let parcels = catalogue.parcels();
        for (node, stand) in self.stands.iter_mut().enumerate() {
            let Stand::ReceivingCatalogue(sent) = stand else { continue };
            if *sent < parcels.len() && orders.has_room(node) {
                let parcel = parcels[*sent].clone();
                *sent += 1;
                let order = CompareOrder::Catalogue(parcel, *sent < parcels.len());
                orders.send(node, ToAgent::Compare(order));
            }
            if *sent == parcels.len() {
                *stand = Stand::Examining;
            }
        }
    }

    /// Sends the next digests to the nodes which have processed the previous ones.
    fn send_digests(&mut self, orders: &mut Orders) {
        let Some(digests) = &self.digests else { return };
        for (node, stand) in self.stands.iter_mut().enumerate() {
            let Stand::ReceivingDigests(sent) = stand else { continue };
            if *sent < digests.len() && orders.has_room(node) {
                let next = (*sent + DIGESTS_MAX).min(digests.len());
                let parcel = digests[*sent..next].to_vec();
                *sent = next;
                let order = CompareOrder::Digests(parcel, next < digests.len());
                orders.send(node, ToAgent::Compare(order));
            }
        }
    }

    /// Gives up the comparison of nodes that make no progress.
    fn give_up(&mut self, now_ns: u64) {
        for node in 0..self.stands.len() {
            if matches!(self.stands[node], Stand::Found(..) | Stand::ReceivingCatalogue(_)) {
                // The node waits for the head.
                self.progress_ns[node] = now_ns;
            }
            if now_ns.saturating_sub(self.progress_ns[node]) > PATIENCE_NS {
                self.end(node);
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
    }

    fn handle(&mut self, now_ns: u64, node: usize, event: AgentEvent, _: &mut Orders) {
        let answer = match event {
            AgentEvent::Message(FromAgent::Compared(answer)) => answer,
            AgentEvent::Message(_) => return,
            AgentEvent::Lost(_) => return self.end(node),
        };
        self.progress_ns[node] = now_ns;
        match (self.stands[node], answer) {
            (Stand::Examining, Compared::Found { length, root }) => {
                self.stands[node] = Stand::Found(length, root);
            }
            (Stand::Examining, Compared::Wants) => {
                self.stands[node] = Stand::ReceivingCatalogue(0);
            }
            (Stand::Examining, Compared::Nothing) => self.end(node),
            (_, Compared::Part(digests, more)) => self.parts.take(node, digests, more),
            (_, Compared::Unseen(reason)) => self.parts.fail(node, reason),
            (Stand::ReceivingDigests(_), Compared::Has { left, .. }) => {
                self.end(node);
                if left == Some(0) {
                    self.unusable.push(node);
                }
            }
            _ => {}
        }
    }

    fn tick(&mut self, now_ns: u64, orders: &mut Orders) {
        self.judge();
        self.send_catalogue(orders);
        self.send_digests(orders);
        self.give_up(now_ns);
    }

    /// Ends the comparison. The interrupt also ends the copy that follows.
    fn interrupt(&mut self, _: u64, _: &mut Orders) {
        self.stopped = true;
    }

    fn is_over(&self) -> bool {
        self.stopped || self.stands.iter().all(|stand| *stand == Stand::Over)
    }
}

/// Starts a thread that computes the digests of the source, unless they are recorded already. Returns
/// their receiver.
fn digest<'scope>(
    scope: &'scope Scope<'scope, '_>,
    request: &'scope CompareRequest<'_>,
    parts: SharedDigests,
    wake: &'scope Wake,
    stop: &'scope AtomicBool,
) -> Receiver<io::Result<Vec<[u8; 32]>>> {
    let (sender, receiver) = channel();
    let layout = request.compare.layout;
    let failed = sender.clone();
    let begun = threads::spawn_in(scope, "digest", move || {
        let (known, content): (_, &dyn Content) = match request.asked {
            CompareSource::File(source, records) => (records.recall(source.file(), layout), source),
            CompareSource::Tree(tree) => (None, tree),
        };
        let known: Option<Vec<[u8; 32]>> = known.and_then(|all| all.into_iter().collect());
        let digests = known.map_or_else(|| digest_rest(layout, content, parts, stop), Ok);
        // Fails if the comparison has ended.
        let _ = sender.send(digests);
        wake.raise();
    });
    if let Err(error) = begun {
        // Fails if the comparison has ended.
        let _ = failed.send(Err(error));
        wake.raise();
    }
    receiver
}

/// Computes the digests of the source that nodes have not reported. Of each node that reported
/// digests, checks one block: if its digest differs, all digests of that node are computed here,
/// too.
fn digest_rest(
    layout: Layout,
    content: &dyn Content,
    SharedDigests { mut digests, samples }: SharedDigests,
    stop: &AtomicBool,
) -> io::Result<Vec<[u8; 32]>> {
    let read =
        |index, bytes: &mut [u8]| content.read(layout, index, bytes).map_err(io::Error::other);
    let mut buffer = vec![0; layout.block_size as usize];
    for (blocks, index) in samples {
        let bytes = &mut buffer[..layout.block_length(index) as usize];
        read(index, bytes)?;
        if digests[index as usize] != Some(content_digest(bytes)) {
            blocks.indices().for_each(|index| digests[index as usize] = None);
        }
    }
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = THREADS.min(here);
    // Read one missing range after another.
    while let Some(first) = digests.iter().position(Option::is_none) {
        let length = digests[first..].iter().take_while(|it| it.is_none()).count();
        let (first, end) = (first as u64, (first + length) as u64);
        let blocks = LaneBlocks { first, end, ..LaneBlocks::all(end) };
        let read = digest_all(layout, blocks, threads, read, || (), stop)?;
        for (index, digest) in blocks.indices().zip(read) {
            digests[index as usize] = Some(digest);
        }
    }
    Ok(digests.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(answer: Compared) -> AgentEvent {
        AgentEvent::Message(FromAgent::Compared(answer))
    }

    fn told(comparison: &mut Comparison<'_>, now_ns: u64) -> Vec<(usize, CompareOrder)> {
        let mut orders = Orders::default();
        comparison.tick(now_ns, &mut orders);
        let order = |(node, message)| match message {
            ToAgent::Compare(order) => (node, order),
            other => panic!("{other:?}"),
        };
        orders.take().into_iter().map(order).collect()
    }

    fn request() -> Compare {
        let layout = Layout::new(3 * 4096, 4096).unwrap();
        Compare { path: Vec::new(), name: Vec::new(), layout, tree: None, shared: None }
    }

    #[test]
    fn only_nodes_with_another_file_get_digests_and_nobody_waits_for_a_hanging_node() {
        let (compare, list) = (request(), || None);
        let mut comparison = Comparison::new(&compare, None, 4, &list);
        let mut orders = Orders::default();
        comparison.handle(0, 3, AgentEvent::Lost("no agent".to_owned()), &mut orders);
        comparison.begin(1, &mut orders);
        let digests = vec![[1; 32], [2; 32], [3; 32]];
        let (length, root) = (Some(3 * 4096), root_digest(&digests));
        assert!(told(&mut comparison, 2).is_empty() && !comparison.needs_digests());
        comparison.handle(3, 0, compared(Compared::Found { length, root }), &mut orders);
        let found = Compared::Found { length: None, root: [0; 32] };
        comparison.handle(3, 1, compared(found), &mut orders);
        assert!(comparison.needs_digests());
        comparison.digests = Some(digests.clone());
        let sent = told(&mut comparison, 4);
        let is_all = |order: &CompareOrder| matches!(order, CompareOrder::Digests(parcel, false) if *parcel == digests);
        assert!(matches!(&sent[..], [(1, order)] if is_all(order)), "{sent:?}");
        assert!(told(&mut comparison, 5).is_empty());
        let has = Compared::Has { blocks: 0, left: Some(0) };
        comparison.handle(6, 1, compared(has), &mut orders);
        assert!(told(&mut comparison, PATIENCE_NS + 1).is_empty() && !comparison.is_over());
        assert!(told(&mut comparison, PATIENCE_NS + 2).is_empty() && comparison.is_over());
        assert_eq!(comparison.unusable, [1]);
    }

    #[test]
    fn digests_are_computed_here_once_no_node_reports_more_of_them() {
        let (compare, list) = (request(), || None);
        let blocks = |first, end| LaneBlocks { first, end, ..LaneBlocks::all(end) };
        let parts = vec![Some(blocks(0, 2)), Some(blocks(2, 3)), None];
        let shared = Shared { path: Vec::new(), modified: (0, 0), parts };
        let mut comparison = Comparison::new(&compare, Some(&shared), 3, &list);
        let mut orders = Orders::default();
        comparison.begin(0, &mut orders);
        let found = Compared::Found { length: None, root: [0; 32] };
        comparison.handle(1, 2, compared(found), &mut orders);
        let part = Compared::Part(vec![[1; 32], [2; 32]], false);
        comparison.handle(1, 0, compared(part), &mut orders);
        assert!(!comparison.needs_digests(), "node 1 still reads its part");
        comparison.handle(2, 1, AgentEvent::Lost("it exited".to_owned()), &mut orders);
        assert!(comparison.needs_digests());
        let reported = comparison.parts.reported(compare.layout).digests;
        assert_eq!(reported, [Some([1; 32]), Some([2; 32]), None]);
        comparison.interrupt(3, &mut orders);
        assert!(comparison.is_over());
    }
}
