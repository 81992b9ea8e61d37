//! The head's own end of a copy: the source, or the destination of a gather.

use std::sync::Arc;

use garland_core::plan::HEAD;
use garland_protocol::{CopyId, DigestKey, Secret, Sink};
use garland_sys::confine::Root;

use super::{CopyJob, Ends};
use garland_dataplane::context::{CopyConfig, CopyContext, Notice};
use garland_dataplane::recorder::{Budget, Collector};
use garland_dataplane::stall::Faults;
use garland_dataplane::store::{self, NoStore, Present, Store};

/// Creates the copy context of this machine. A source holds every block from the start; a destination
/// has a store.
pub(super) fn near_end(
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
            let (parts, usage) = ((layout, None), Arc::default());
            let store =
                store::open(destination, &Root::Free, parts, Present::Nothing, &tag, None, &usage);
            let store = store.map_err(std::io::Error::other)?;
            let sink = if store.is_ordered() {
                let (lanes, buffers) = (job.plan.lanes.len(), job.pipeline.buffers);
                Sink::in_order(layout, CopyContext::buffer_count(layout, lanes, buffers))
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
        copy,
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
