//! The head's side of a comparison, which finds the parts of a copy that nodes already have.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

use garland_core::plan::{LaneBlocks, Layout};
use garland_protocol::{
    Compare, CompareOrder, Compared, DIGESTS_MAX, FromAgent, SharedPart, ToAgent, content_digest,
    root_digest,
};
use garland_sys::channel::{Receiver, channel};
use garland_sys::event::Wake;
use garland_sys::signal::Interrupts;
use garland_sys::threads;

use crate::copy::Agent;
use crate::session::Session;
use crate::shared_reads::{Parts, SharedDigests};
use garland_dataplane::block_index::Records;
use garland_dataplane::block_index::holding::digest_all;
use garland_dataplane::source::{Content, Source};
use garland_dataplane::tree::{Catalogue, TreeSource};
use garland_protocol::operation::{AgentEvent, Operation, Orders};

/// Time without progress after which a node's comparison is given up, in nanoseconds; the node then
/// receives the whole source.
const PATIENCE_NS: u64 = 30_000_000_000;

/// The number of threads that read and digest the source.
const THREADS: usize = 4;

/// The catalogue of a tree is sent only if its length times the number of nodes is at most the
/// tree's length divided by this number; otherwise the tree itself is sent.
const CATALOGUE_SHARE: u64 = 4;

/// The source to compare with.
pub enum CompareSource<'a> {
    /// A file, and this machine's records of the digests of files.
    File(&'a Source, &'a Records),
    /// A tree of files and directories.
    Tree(&'a TreeSource),
}

/// The parameters of a comparison.
pub struct CompareRequest<'a> {
    /// What each node compares, without its part of a shared source.
    pub compare: Compare,
    /// The source of the copy.
    pub asked: CompareSource<'a>,
    /// The path and parts of the source for nodes that can read it themselves; `None` if they
    /// cannot.
    pub shared: Option<Shared>,
    /// The user's interrupts, which end the comparison; `None` if it cannot be interrupted.
    pub interrupts: Option<&'a Interrupts>,
}

/// A source that nodes can read themselves.
pub struct Shared {
    /// The path of the source (raw bytes).
    pub path: Vec<u8>,
    /// The modification time in seconds and nanoseconds.
    pub modified: (i64, u32),
    /// The part of the source that each node reads, in the order of nodes; `None` for a node that
    /// reads nothing.
    pub parts: Vec<Option<LaneBlocks>>,
}

/// The result of a comparison.
pub struct CompareOutcome {
    /// The agent or error of each node, in the order of nodes.
    pub agents: Vec<Result<Agent, String>>,
    /// The digests of the source's blocks; `None` if they were not needed.
    pub digests: Option<Vec<[u8; 32]>>,
    /// Indexes of nodes whose partial file of an interrupted copy has no block of this source.
    pub unusable: Vec<usize>,
    /// Indexes of nodes that did not read their part of a shared source, and why.
    pub unread: Vec<(usize, String)>,
}

/// The state of a node's comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// The node examines its destination, and will report what it has.
    Examining,
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

/// The state machine of a comparison.
struct Comparison<'a> {
    compare: &'a Compare,
    shared: Option<&'a Shared>,
    /// Returns the catalogue of the source; `None` if there is none.
    list: &'a dyn Fn() -> Option<Catalogue>,
    stands: Vec<Stand>,
    /// The time of each node's last progress, in monotonic nanoseconds.
    progress_ns: Vec<u64>,
    digests: Option<Vec<[u8; 32]>>,
    /// The catalogue of a tree, once a node needs it; `Some(None)` if there is none, or it is too
    /// large to be sent.
    catalogue: Option<Option<Catalogue>>,
    unusable: Vec<usize>,
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
                match digest(scope, request, parts, &wake, &stop) {
                    Ok(receiver) => coming = Some(receiver),
                    Err(_) => comparison.stopped = true,
                }
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
    /// Returns the part of the source that the node with this index reads; `None` if it reads
    /// nothing.
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

    /// Ends the comparison of a node. If the node has not reported all digests of its part of a
    /// shared source, this part counts as failed.
    fn end(&mut self, node: usize) {
        self.stands[node] = Stand::Over;
        self.parts.fail(node, "it did not report its digests".to_owned());
    }

    /// Returns whether to compute the digests of the source now: once no part is still being read
    /// by a node, and there is a catalogue to send or a node that waits for digests.
    fn needs_digests(&self) -> bool {
        if self.shared.is_some() && !self.parts.are_settled() {
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

    /// Returns whether there is a catalogue of the tree which is small enough to be sent.
    fn is_listed(&mut self) -> bool {
        let nodes = self.stands.len() as u64;
        let length = self.compare.layout.length;
        let pays = |it: &Catalogue| it.packed().saturating_mul(nodes) <= length / CATALOGUE_SHARE;
        self.catalogue.get_or_insert_with(|| (self.list)().filter(pays)).is_some()
    }

    /// Sends the next part of the catalogue or of the digests to each node to which all previous
    /// messages have been sent.
    fn send_parcels(&mut self, orders: &mut Orders) {
        let parcels = self.catalogue.iter().flatten().next().map_or(&[][..], Catalogue::parcels);
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
            (Stand::Examining, Compared::Wants) => match self.is_listed() {
                true => self.stands[node] = Stand::ReceivingCatalogue(0),
                false => self.end(node),
            },
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
        self.send_parcels(orders);
        self.give_up(now_ns);
    }

    fn is_over(&self) -> bool {
        self.stopped || self.stands.iter().all(|stand| *stand == Stand::Over)
    }
}

/// Starts a thread that computes the digests of the source, unless they are recorded already.
/// Returns the receiver of the digests.
fn digest<'scope>(
    scope: &'scope Scope<'scope, '_>,
    request: &'scope CompareRequest<'_>,
    parts: SharedDigests,
    wake: &'scope Wake,
    stop: &'scope AtomicBool,
) -> io::Result<Receiver<io::Result<Vec<[u8; 32]>>>> {
    let (sender, receiver) = channel();
    let layout = request.compare.layout;
    threads::spawn_in(scope, "digest", move || {
        let (known, content): (_, &dyn Content) = match request.asked {
            CompareSource::File(source, records) => (records.recall(source.file(), layout), source),
            CompareSource::Tree(tree) => (None, tree),
        };
        let known: Option<Vec<[u8; 32]>> = known.and_then(|all| all.into_iter().collect());
        let digests = known.map_or_else(|| digest_rest(layout, content, parts, stop), Ok);
        // Fails if the comparison has ended.
        let _ = sender.send(digests);
        wake.raise();
    })?;
    Ok(receiver)
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
mod tests;
