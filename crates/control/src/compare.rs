//! The head's side of a comparison, which finds the parts of a copy that nodes already have.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::Scope;
use std::time::Duration;

use garland_core::plan::{LaneBlocks, Layout};
use garland_protocol::{
    Compare, CompareOrder, Compared, DIGESTS_MAX, FromAgent, SharedPart, ToAgent, content_digest,
    root_digest,
};
use garland_sys::event::Wake;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, threads};

use crate::agent_set::AgentEvent;
use crate::agents::{Agents, gone};
use crate::copy::Agent;
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

struct Comparison<'a> {
    asking: &'a CompareRequest<'a>,
    agents: Agents,
    stands: Vec<Stand>,
    /// The time of each node's last progress.
    progress_ns: Vec<u64>,
    digests: Option<Vec<[u8; 32]>>,
    /// The catalogue of a tree, once a node needs it; `Some(None)` if it is too large.
    catalogue: Option<Option<Catalogue>>,
    /// The channel from the threads that compute the digests; none before these threads start.
    coming: Option<Receiver<io::Result<Vec<[u8; 32]>>>>,
    unusable: Vec<usize>,
    /// The parts of a shared source.
    parts: Parts,
}

/// Finds the parts of a copy that the nodes of `agents` already have.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn compare(
    agents: Vec<Result<Agent, String>>,
    asking: &CompareRequest<'_>,
) -> io::Result<CompareOutcome> {
    let (agents, reasons) = Agents::split(agents);
    let stand = |reason: &Option<String>| match reason {
        None => Stand::Examining,
        Some(_) => Stand::Over,
    };
    let course = Comparison {
        asking,
        stands: reasons.iter().map(stand).collect(),
        progress_ns: vec![clock::now_ns(); reasons.len()],
        agents,
        digests: None,
        catalogue: None,
        coming: None,
        unusable: Vec::new(),
        parts: Parts::new(asking.parts()),
    };
    let (wake, stop) = (Wake::new()?, AtomicBool::new(false));
    let course = std::thread::scope(|scope| {
        let course = course.run(scope, &wake, &stop);
        // If digests are still being computed, they are not needed.
        stop.store(true, Ordering::Relaxed);
        course
    })?;
    let Comparison { agents, digests, unusable, parts, .. } = course;
    let unread = parts.unread(digests.as_deref());
    let agents = agents.into_agents().zip(reasons);
    let agents = agents.map(|(agent, reason)| agent.ok_or_else(|| reason.unwrap_or_else(gone)));
    Ok(CompareOutcome { agents: agents.collect(), digests, unusable, unread })
}

impl CompareRequest<'_> {
    /// Returns the indexes of nodes, and the part of a shared source that each reads.
    fn parts(&self) -> impl Iterator<Item = (usize, LaneBlocks)> {
        let parts = self.shared.iter().flat_map(|shared| shared.parts.iter().enumerate());
        parts.filter_map(|(place, part)| Some((place, (*part)?)))
    }

    /// Returns the order for the node with this index.
    fn stat_order(&self, place: usize) -> CompareOrder {
        let part = |shared: &Shared| {
            let blocks = shared.parts.get(place).copied().flatten()?;
            Some(SharedPart { path: shared.path.clone(), modified: shared.modified, blocks })
        };
        let shared = self.shared.as_ref().and_then(part);
        CompareOrder::Stat(Compare { shared, ..self.compare.clone() })
    }
}

impl Comparison<'_> {
    fn run<'scope>(
        mut self,
        scope: &'scope Scope<'scope, '_>,
        wake: &'scope Wake,
        stop: &'scope AtomicBool,
    ) -> io::Result<Self>
    where
        Self: 'scope,
    {
        for node in self.agents.nodes() {
            self.agents.send(node, &ToAgent::Compare(self.asking.stat_order(node)));
        }
        let interrupts = self.asking.interrupts;
        while self.stands.iter().any(|stand| *stand != Stand::Over) {
            if interrupts.is_some_and(Interrupts::have_come) {
                // The interrupt stays pending, and also ends the copy.
                break;
            }
            let others = std::iter::once(wake.as_fd()).chain(interrupts.map(AsFd::as_fd));
            let events = self.agents.wait(others, Duration::from_millis(200))?;
            wake.lower();
            for (node, event) in events {
                self.handle(node, event);
            }
            self.miss_parts();
            if self.needs_digests() {
                self.coming = Some(self.digest(scope, wake, stop));
            }
            if let Some(Ok(digests)) = self.coming.as_ref().map(Receiver::try_recv) {
                match digests {
                    Ok(digests) => self.digests = Some(digests),
                    // A source that cannot be read cannot be copied: the copy reports why.
                    Err(_) => break,
                }
            }
            self.judge();
            self.send_catalogue();
            self.send_digests();
            self.give_up();
        }
        Ok(self)
    }

    fn handle(&mut self, place: usize, event: AgentEvent) {
        let AgentEvent::Message(FromAgent::Compared(answer)) = event else {
            if matches!(event, AgentEvent::Lost(_)) {
                self.stands[place] = Stand::Over;
            }
            return;
        };
        self.progress_ns[place] = clock::now_ns();
        match (self.stands[place], answer) {
            (Stand::Examining, Compared::Found { length, root }) => {
                self.stands[place] = Stand::Found(length, root);
            }
            (Stand::Examining, Compared::Wants) => {
                self.stands[place] = Stand::ReceivingCatalogue(0);
            }
            (Stand::Examining, Compared::Nothing) => self.stands[place] = Stand::Over,
            (_, Compared::Part(digests, more)) => self.parts.take(place, digests, more),
            (_, Compared::Unseen(reason)) => self.parts.fail(place, reason),
            (Stand::ReceivingDigests(_), Compared::Has { left, .. }) => {
                self.stands[place] = Stand::Over;
                if left == Some(0) {
                    self.unusable.push(place);
                }
            }
            _ => {}
        }
    }

    /// Fails the parts of nodes whose comparison is over.
    fn miss_parts(&mut self) {
        let over = self.stands.iter().enumerate().filter(|(_, stand)| **stand == Stand::Over);
        over.for_each(|(place, _)| {
            self.parts.fail(place, "it did not report its digests".to_owned())
        });
    }

    /// Returns whether to start computing the digests of the source: a node needs them, and all parts
    /// that nodes read have been reported.
    fn needs_digests(&self) -> bool {
        if self.asking.shared.is_some() && !self.parts.are_settled() {
            return false;
        }
        // While a node with the catalogue reads its files, compute the digests at the same time.
        let listed = self.catalogue.as_ref().is_some_and(Option::is_some);
        let found = listed || self.stands.iter().any(|stand| matches!(stand, Stand::Found(..)));
        found && self.digests.is_none() && self.coming.is_none()
    }

    /// Starts threads that compute the digests of the source, unless they are recorded already. Returns
    /// their receiver.
    fn digest<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        wake: &'scope Wake,
        stop: &'scope AtomicBool,
    ) -> Receiver<io::Result<Vec<[u8; 32]>>>
    where
        Self: 'scope,
    {
        let (sender, receiver) = channel();
        let CompareRequest { asked, compare, .. } = self.asking;
        let layout = compare.layout;
        let parts = self.parts.reported(layout);
        let failed = sender.clone();
        let begun = threads::spawn_in(scope, "digest", move || {
            let (known, content): (_, &dyn Content) = match asked {
                CompareSource::File(source, records) => {
                    (records.recall(source.file(), layout), *source)
                }
                CompareSource::Tree(tree) => (None, *tree),
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

    /// Decides which nodes have the whole source already; the others are sent the digests.
    fn judge(&mut self) {
        let Some(digests) = &self.digests else { return };
        let (length, root) = (self.asking.compare.layout.length, root_digest(digests));
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
    fn send_catalogue(&mut self) {
        let wanted = |stand: &Stand| matches!(stand, Stand::ReceivingCatalogue(_));
        if !self.stands.iter().any(wanted) {
            return;
        }
        let nodes = self.stands.len() as u64;
        let length = self.asking.compare.layout.length;
        let pays = |it: &Catalogue| it.packed().saturating_mul(nodes) <= length / CATALOGUE_SHARE;
        let catalogue = self.catalogue.get_or_insert_with(|| match self.asking.asked {
            CompareSource::File(..) => None,
            CompareSource::Tree(tree) => tree.catalogue().filter(pays),
        });
        for (node, stand) in self.stands.iter_mut().enumerate() {
            let (Stand::ReceivingCatalogue(sent), Some(catalogue)) = (&mut *stand, &*catalogue)
            else {
                if wanted(stand) {
                    *stand = Stand::Over;
                }
                continue;
            };
            let parcels = catalogue.parcels();
            while *sent < parcels.len() && self.agents.has_room(node) {
                *sent += 1;
                let parcel = parcels[*sent - 1].clone();
                let more = *sent < parcels.len();
                let order = CompareOrder::Catalogue(parcel, more);
                self.agents.send(node, &ToAgent::Compare(order));
            }
            if *sent == parcels.len() {
                *stand = Stand::Examining;
            }
        }
    }

    /// Sends the next digests to the nodes which have processed the previous ones.
    fn send_digests(&mut self) {
        let Some(digests) = &self.digests else { return };
        for (node, stand) in self.stands.iter_mut().enumerate() {
            let Stand::ReceivingDigests(sent) = stand else { continue };
            while *sent < digests.len() && self.agents.has_room(node) {
                let next = (*sent + DIGESTS_MAX).min(digests.len());
                let parcel = digests[*sent..next].to_vec();
                *sent = next;
                let more = next < digests.len();
                let order = CompareOrder::Digests(parcel, more);
                self.agents.send(node, &ToAgent::Compare(order));
            }
        }
    }

    /// Gives up the comparison of nodes that are silent or make no progress.
    fn give_up(&mut self) {
        let now = clock::now_ns();
        let nodes = self.stands.iter_mut().zip(&mut self.progress_ns).enumerate();
        for (node, (stand, progress_ns)) in nodes {
            if matches!(stand, Stand::Found(..) | Stand::ReceivingCatalogue(_)) {
                // The node waits for the head.
                *progress_ns = now;
            }
            if self.agents.is_silent(node) || now.saturating_sub(*progress_ns) > PATIENCE_NS {
                *stand = Stand::Over;
            }
        }
    }
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
