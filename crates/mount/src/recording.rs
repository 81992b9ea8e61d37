//! The recording of a mount: a span for each request to a node and for each wait of a caller, in
//! bounded memory. Its trace resembles that of a copy's head, except that spans of concurrent
//! requests overlap.

use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::trace::{NO_BLOCK, NONE, Origin, Record, Ring, Role, Span, Stage, Trace};
use garland_protocol::files::Ask;
use garland_sys::sync::{Mutex, MutexGuard};
use garland_sys::{clock, random};

/// The maximum number of spans of all nodes together, which make a trace file of 1 MiB. If a node's
/// share is full, adjacent spans of one stage are merged.
const SPANS: usize = 16384;

/// The minimum number of spans for a node, whatever the number of nodes.
const MIN_SPANS: usize = 256;

/// The recording of a mount. All threads of the mount add spans to it.
pub struct Recording {
    origin: Origin,
    /// For each node, the spans of its requests.
    rings: Vec<Mutex<Ring>>,
    is_news: AtomicBool,
}

impl Recording {
    /// Creates an empty recording for `nodes` nodes that begins now. `emulated` says that the nodes
    /// share this machine's clock.
    pub fn begin(nodes: usize, emulated: bool) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let origin = Origin {
            node: "head".to_owned(),
            index: 0,
            role: Role::Head,
            processors: u16::try_from(processors).unwrap_or(u16::MAX),
            started_ns: clock::now_ns(),
            wall_ns: clock::wall_ns(),
            copy: random::bytes(),
            emulated,
        };
        let capacity = share(nodes);
        let rings = (0..nodes).map(|_| Mutex::new(Ring::even(capacity))).collect();
        Self { origin, rings, is_news: AtomicBool::new(false) }
    }

    /// Records a span of the stage `stage` from `begin_ns` until now: `bytes` bytes were
    /// transferred to or from the node at index `place`.
    pub fn note(&self, stage: Stage, place: usize, begin_ns: u64, bytes: u64) {
        let end_ns = clock::now_ns().max(begin_ns);
        let span = Span {
            stage,
            lane: NONE,
            // Index 0 is the mount itself.
            peer: u16::try_from(place + 1).unwrap_or(NONE),
            thread: 0,
            begin_ns,
            end_ns,
            busy_ns: end_ns - begin_ns,
            bytes,
            block: NO_BLOCK,
            count: 1,
            operation: 0,
        };
        if let Some(ring) = self.rings.get(place) {
            locked(ring).push(span);
            self.is_news.store(true, Ordering::Release);
        }
    }

    /// Returns whether anything was recorded since the last call.
    pub fn is_news(&self) -> bool {
        self.is_news.swap(false, Ordering::AcqRel)
    }

    /// Returns the recording so far as a trace.
    pub fn trace(&self) -> Trace {
        let mut records = Vec::new();
        for ring in &self.rings {
            let ring = locked(ring).clone();
            let (spans, lost) = ring.into_parts(share(self.rings.len()));
            records.extend(spans.into_iter().map(Record::Span));
            records.extend(lost.into_iter().map(Record::Lost));
        }
        let mut trace = Trace { origin: self.origin.clone(), records };
        trace.put_in_order();
        trace
    }
}

/// Returns the maximum number of spans of each of `nodes` nodes.
fn share(nodes: usize) -> usize {
    (SPANS / nodes.max(1)).max(MIN_SPANS)
}

fn locked(ring: &Mutex<Ring>) -> MutexGuard<'_, Ring> {
    ring.lock()
}

/// Returns the stage that spans of requests like `ask` have.
pub fn stage(ask: &Ask) -> Stage {
    match ask {
        Ask::Read(..) | Ask::Block { .. } | Ask::Holds { .. } => Stage::Read,
        Ask::Write(..) | Ask::WriteChange(..) => Stage::Write,
        Ask::Sync(..) | Ask::SyncFolder(_) => Stage::Fsync,
        Ask::Change(..)
        | Ask::Make(..)
        | Ask::Link(..)
        | Ask::Remove(_)
        | Ask::RemoveFolder(_)
        | Ask::Rename(..)
        | Ask::Allocate(..) => Stage::Change,
        Ask::Stat(_)
        | Ask::ReadLink(_)
        | Ask::Access(..)
        | Ask::Open(..)
        | Ask::Seek(..)
        | Ask::List(_)
        | Ask::ListOn(_)
        | Ask::Close(_)
        | Ask::Space(_) => Stage::LookUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_and_sums_hold_however_much_is_noted() {
        let recording = Recording::begin(3, false);
        assert!(!recording.is_news());
        let asks = [Ask::Sync(1, false), Ask::Read(1, 0, 7), Ask::ListOn(1), Ask::Close(1)];
        for at in 0..100_000_usize {
            let ask = &asks[at % 4];
            recording.note(stage(ask), at % 3, clock::now_ns(), 7);
        }
        assert!(recording.is_news() && !recording.is_news());
        let trace = recording.trace();
        assert!(trace.records.len() <= SPANS && trace.records.len() > SPANS / 8);
        let mut sums = (0, 0);
        for record in &trace.records {
            let Record::Span(span) = record else { panic!("{record:?}") };
            assert!((1..=3).contains(&span.peer) && span.count < 128, "{span:?}");
            sums = (sums.0 + u64::from(span.count), sums.1 + span.bytes);
        }
        assert_eq!(sums, (100_000, 700_000));
    }
}
