//! The driver of a comparison, which finds the parts of a copy that nodes already have: it reads
//! and digests the source.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

use garland_core::plan::Layout;
use garland_dataplane::block_index::Records;
use garland_dataplane::block_index::holding::digest_all;
use garland_dataplane::source::{Content, Source};
use garland_dataplane::tree::TreeSource;
use garland_protocol::copy::{Compare, CompareBy, content_digest};
use garland_protocol::operation::{Comparison, ComparisonEnd, SharedDigests, SharedSource};
use garland_sys::channel::{Receiver, channel};
use garland_sys::event::Wake;
use garland_sys::signal::Interrupts;
use garland_sys::threads;
use garland_sys::{clock, random};

use crate::copy::Agent;
use crate::session::Session;

/// The number of threads that read and digest the source.
const THREADS: usize = 4;

/// The source to compare with.
pub enum CompareSource<'a> {
    /// A file, and this machine's records of the digests of files.
    File(&'a Source, &'a Records),
    /// A tree of files and directories.
    Tree(&'a TreeSource),
    /// A file that is elsewhere, by the digests of its blocks.
    Known(&'a [[u8; 32]]),
}

/// The parameters of a comparison.
pub struct CompareRequest<'a> {
    /// What each node compares, without its part of a shared source.
    pub compare: Compare,
    /// The source of the copy.
    pub asked: CompareSource<'a>,
    /// The path and parts of the source for nodes that can read it themselves; `None` if they
    /// cannot.
    pub shared: Option<SharedSource>,
    /// The user's interrupts, which end the comparison; `None` if it cannot be interrupted.
    pub interrupts: Option<&'a Interrupts>,
}

/// Finds the parts of a copy that the nodes of `agents` already have. Returns the agent or error of
/// each node, in the order of nodes, and what was found.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn compare(
    agents: Vec<Result<Agent, String>>,
    request: &CompareRequest<'_>,
) -> io::Result<(Vec<Result<Agent, String>>, ComparisonEnd)> {
    let wake = Wake::new()?;
    let stop = AtomicBool::new(false);
    let comparison = Comparison::new(&request.compare, request.shared.as_ref(), agents.len());
    let mut session = Session::new(agents, request.interrupts).with_wakes([wake.as_fd()]);
    let comparison = std::thread::scope(|scope| {
        let mut coming = None;
        let mut digest_since_ns = 0;
        let comparison = session.run(comparison, &mut |comparison| {
            wake.lower();
            if comparison.needs_catalogue() {
                let begin_ns = clock::now_ns();
                comparison.set_catalogue(match request.asked {
                    CompareSource::File(..) | CompareSource::Known(_) => None,
                    CompareSource::Tree(tree) => tree.catalogue(),
                });
                comparison.add_own_work(begin_ns, clock::now_ns());
            }
            if coming.is_none() && comparison.needs_digests() {
                digest_since_ns = clock::now_ns();
                let draw = u64::from_le_bytes(random::bytes());
                match digest(scope, request, comparison.reported(draw), &wake, &stop) {
                    Ok(receiver) => coming = Some(receiver),
                    Err(_) => comparison.stop(),
                }
            }
            match coming.as_ref().map(Receiver::try_recv) {
                Some(Ok(Ok(digests))) => {
                    comparison.add_own_work(digest_since_ns, clock::now_ns());
                    comparison.set_digests(digests);
                }
                // A source that cannot be read cannot be copied: the copy reports why.
                Some(Ok(Err(_))) => comparison.stop(),
                Some(Err(_)) | None => {}
            }
        });
        // If digests are still being computed, they are not needed.
        stop.store(true, Ordering::Relaxed);
        comparison
    })?;
    Ok((session.into_agents().collect(), comparison.into_end()))
}

/// Starts a thread that computes the digests of the source, unless they are recorded already.
/// Returns the receiver of the digests.
fn digest<'scope>(
    scope: &'scope Scope<'scope, '_>,
    request: &'scope CompareRequest<'_>,
    shared: SharedDigests,
    wake: &'scope Wake,
    stop: &'scope AtomicBool,
) -> io::Result<Receiver<io::Result<Vec<[u8; 32]>>>> {
    let (sender, receiver) = channel();
    let layout = request.compare.layout;
    threads::spawn_in(scope, "digest", move || {
        let digests = match request.asked {
            CompareSource::Known(digests) => Ok(digests.to_vec()),
            CompareSource::Tree(tree) => digest_rest(layout, tree, shared, stop),
            CompareSource::File(source, records) => {
                let is_read = request.compare.by == CompareBy::Bytes;
                let known = if is_read { None } else { records.recall(source.file(), layout) };
                let known: Option<Vec<_>> = known.and_then(|all| all.into_iter().collect());
                known.map_or_else(|| digest_rest(layout, source, shared, stop), Ok)
            }
        };
        // Fails if the comparison has ended.
        let _ = sender.send(digests);
        wake.raise();
    })?;
    Ok(receiver)
}

/// Computes the digests of the source that nodes have not reported, and checks those that they
/// have.
fn digest_rest(
    layout: Layout,
    content: &dyn Content,
    mut shared: SharedDigests,
    stop: &AtomicBool,
) -> io::Result<Vec<[u8; 32]>> {
    let read =
        |index, bytes: &mut [u8]| content.read(layout, index, bytes).map_err(io::Error::other);
    let mut buffer = vec![0; layout.block_size as usize];
    for index in shared.samples() {
        let bytes = &mut buffer[..layout.block_length(index) as usize];
        read(index, bytes)?;
        shared.check(index, content_digest(bytes));
    }
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = THREADS.min(here);
    while let Some(blocks) = shared.missing() {
        shared.fill(blocks, digest_all(layout, blocks, threads, read, || (), stop)?);
    }
    Ok(shared.into_known())
}
