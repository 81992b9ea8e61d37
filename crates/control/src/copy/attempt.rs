//! An attempt at a copy, on the head's machine: the source, or the destination of a gather, and the
//! threads that serve it. A copy begins again if an agent is busy.

use std::sync::Arc;
use std::time::Duration;

use garland_core::plan::{HEAD, NodeId};
use garland_core::trace::Exchange;
use garland_dataplane::Faults;
use garland_dataplane::context::{CopyConfig, CopyContext, Notice, buffer_count};
use garland_dataplane::copy_threads;
use garland_dataplane::read_back;
use garland_dataplane::recorder::{Budget, ClockProbes, Collector, Exchanges, Harvest};
use garland_dataplane::source::{Content, is_same_again};
use garland_dataplane::store::{self, NoStore, Present, Store, StorePlace};
use garland_protocol::copy::{CopyId, DigestKey, LinkMaster, Operations, Route, Sink};
use garland_protocol::wire::Secret;
use garland_sys::channel::{Receiver, Sender, channel};
use garland_sys::confine::Root;
use garland_sys::error::reason;
use garland_sys::event::Wake;
use garland_sys::threads::JoinHandle;
use garland_sys::{random, threads};

use super::{CopyJob, Ends};

/// The result of committing the file on this machine.
type Stored = Result<(), String>;

/// An attempt at a copy, as it runs on the head's machine. Each attempt has its own copy id.
pub(super) struct Attempt {
    pub(super) copy: CopyId,
    pub(super) secret: Secret,
    /// The secret from which those of the links derive.
    links: LinkMaster,
    /// The key with which the reader of the source signs the digests of blocks.
    pub(super) digest_key: DigestKey,
    pub(super) context: Arc<CopyContext>,
    /// The operations in flight, if their number is limited.
    operations: Option<Operations>,
    notices: Receiver<Notice>,
    pub(super) wake: Arc<Wake>,
    threads: Vec<JoinHandle<()>>,
    /// Whether the source was read a second time, since its stamp had changed.
    is_read_again: bool,
    stored: (Sender<Stored>, Receiver<Stored>),
    /// The trace: times of orders, clock probes, and the nodes' traces.
    exchanges: Exchanges,
    pub(super) probes: ClockProbes,
    pub(super) harvest: Harvest,
}

impl Attempt {
    /// Creates an attempt at a copy with `nodes` nodes, the head included.
    pub(super) fn new(job: &CopyJob<'_>, nodes: usize) -> std::io::Result<Self> {
        let copy = CopyId(random::bytes());
        let secret = Secret(random::bytes());
        let digest_key = DigestKey::Sign(Secret(random::bytes()));
        let wake = Arc::new(Wake::new()?);
        let (tell, notices) = channel();
        let operations = job.pipeline.cut.map(|cut| Operations::new(cut, job.plan.layout));
        let waker = Arc::clone(&wake);
        let context = near_end(job, copy, &secret, &digest_key, move |notice| {
            // Fails if the loop has ended.
            let _ = tell.send(notice);
            waker.raise();
        })?;
        operations.iter().for_each(|operations| context.serve_until(operations.bound()));
        Ok(Self {
            copy,
            secret,
            links: LinkMaster::new(Secret(random::bytes())),
            digest_key,
            context,
            operations,
            notices,
            wake,
            threads: Vec::new(),
            is_read_again: false,
            stored: channel(),
            exchanges: Exchanges::new(nodes),
            probes: ClockProbes::new(nodes),
            harvest: Harvest::new(nodes),
        })
    }

    /// Returns a route with the secrets of its links.
    pub(super) fn complete(&self, route: Route) -> Route {
        self.links.complete(self.copy, route)
    }

    /// Adds a node at the end of the plan.
    pub(super) fn grow(&mut self) {
        self.exchanges.grow();
        self.probes.grow();
        self.harvest.grow();
    }

    /// Starts the threads of the head's lanes.
    pub(super) fn start_lanes(&mut self, job: &CopyJob<'_>) -> std::io::Result<()> {
        let blocks: Vec<_> = job.plan.lanes.iter().map(|lane| lane.blocks).collect();
        let source = match &job.ends {
            Ends::Out { source, .. } => Some(source),
            Ends::In { .. } => None,
        };
        self.threads = copy_threads::start(&self.context, &blocks, |_| true, source)?;
        Ok(())
    }

    /// Waits until all threads of the attempt have ended, at most for this time. Returns whether
    /// they have. Threads that hang on a disk are not waited for.
    pub(super) fn join_threads(&mut self, patience: Duration) -> bool {
        let threads = self.threads.drain(..).chain(self.context.lanes.take_side_threads());
        copy_threads::join_all(&self.context, threads, garland_sys::clock::after(patience))
    }

    /// Returns the next notice of the head's own lanes.
    pub(super) fn notice(&self) -> Option<Notice> {
        self.notices.try_recv().ok()
    }

    /// Records the time at which an order was sent to a node.
    pub(super) fn asked(&mut self, id: NodeId, exchange: Exchange) {
        self.exchanges.asked(id, exchange, &self.context.config.trace);
    }

    /// Records the time at which a node's answer to an order arrived.
    pub(super) fn answered(&mut self, id: NodeId, exchange: Exchange) {
        self.exchanges.answered(id, exchange, &self.context.config.trace);
    }

    /// Notes that a node has written block `index`. If that completed an operation, releases
    /// further blocks to be sent.
    pub(super) fn written(&mut self, index: u64) {
        let bound = self.operations.as_mut().and_then(|operations| operations.written(index));
        bound.into_iter().for_each(|bound| self.context.serve_until(bound));
    }

    /// Commits the file on this machine in a thread, so that a slow disk does not delay the nodes'
    /// messages.
    pub(super) fn commit(&mut self, job: &CopyJob<'_>) {
        let context = Arc::clone(&self.context);
        let wake = Arc::clone(&self.wake);
        let tell = self.stored.0.clone();
        let wanted = job.read_back;
        let thread = threads::spawn("commit", move || {
            let stored = read_back(&context, wanted)
                .and_then(|()| {
                    let CopyConfig { store, trace, .. } = &context.config;
                    store.commit(trace)
                })
                .map_err(|error| error.to_string());
            // Fails if the copy is over.
            let _ = tell.send(stored);
            wake.raise();
        });
        match thread {
            Ok(thread) => self.threads.push(thread),
            Err(error) => {
                // Fails if the copy is over.
                let _ = self.stored.0.send(Err(reason(&error)));
                self.wake.raise();
            }
        }
    }

    /// Reads `source` again in a thread, since its stamp has changed, and then gives the notice
    /// that it was read, with the digest `root`, once more. Returns false if that was done before,
    /// or if no thread can be started.
    pub(super) fn read_again(&mut self, source: Arc<dyn Content>, root: [u8; 32]) -> bool {
        if std::mem::replace(&mut self.is_read_again, true) {
            return false;
        }
        let context = Arc::clone(&self.context);
        let thread = threads::spawn("read", move || {
            let digest = |index| context.progress.sink().content(index);
            // If it is not the same, that is found when its stamp is looked at the next time.
            let _ = is_same_again(&*source, context.layout, digest, || context.is_closing());
            context.tell(Notice::Read(root));
        });
        let is_begun = thread.is_ok();
        self.threads.extend(thread);
        is_begun
    }

    /// Returns the result of [`Self::commit`] when it has arrived; the next calls return `None`.
    pub(super) fn stored(&self) -> Option<Stored> {
        self.stored.1.try_recv().ok()
    }
}

/// Creates the copy context of this machine. A source holds every block from the start; a
/// destination has a store.
fn near_end(
    job: &CopyJob<'_>,
    copy: CopyId,
    secret: &Secret,
    digest_key: &DigestKey,
    tell: impl Fn(Notice) + Send + Sync + 'static,
) -> std::io::Result<Arc<CopyContext>> {
    let layout = job.plan.layout;
    let (sink, store): (_, Box<dyn Store>) = match &job.ends {
        Ends::Out { .. } => {
            let sink = Sink::source(layout);
            let sink = match &job.known {
                Some(digests) => sink.with_digests(digests.clone()),
                None => sink,
            };
            (sink, Box::new(NoStore))
        }
        Ends::In { destination, .. } => {
            let tag: String = copy.0[..6].iter().map(|byte| format!("{byte:02x}")).collect();
            let usage = Arc::default();
            // The head writes no stripes, and only their stores use the log.
            let log = |_: &str| ();
            let removed = Arc::default();
            let place = StorePlace {
                root: &Root::Free,
                tag: &tag,
                disk: None,
                usage: &usage,
                log,
                removed: &removed,
            };
            let store = store::open(destination, layout, None, Present::Nothing, &place);
            let store = store.map_err(std::io::Error::other)?;
            let sink = if store.is_ordered() {
                let lanes = job.plan.lanes.len();
                let buffers = job.pipeline.buffers;
                Sink::in_order(layout, buffer_count(layout, lanes, buffers))
            } else {
                Sink::new(layout, store.is_holder())
            };
            (sink, store)
        }
    };
    let device = match &job.ends {
        Ends::Out { source, .. } => source.device(),
        Ends::In { .. } => store.device(),
    };
    let began = job.tracing.map_or(0, |tracing| tracing.started_ns);
    let trace = Collector::new(Budget::of_head(job.plan, job.tracing), copy, HEAD.0, began, device);
    let config = CopyConfig {
        id: copy,
        me: HEAD,
        secret: secret.clone(),
        digest_key: match &job.ends {
            Ends::Out { .. } => digest_key.clone(),
            Ends::In { .. } => digest_key.to_public(),
        },
        sealed: job.sealed,
        is_source: matches!(job.ends, Ends::Out { .. }),
        buffers: job.pipeline.buffers,
        acknowledge: false,
        packing: job.packing,
        lane_count: job.plan.lanes.len(),
        store,
        congestion: job.congestion.clone(),
        transport: job.transport,
        pace: job.pipeline.pace,
        // The links of the head end with the command: there is nothing to pool.
        link_pool: None,
        awake: Arc::default(),
        trace,
        faults: Faults::new(&job.injections_at(HEAD)),
        notices: Box::new(tell),
    };
    let context = Arc::new(CopyContext::new(config, sink));
    context.watch_store();
    Ok(context)
}
