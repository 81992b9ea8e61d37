//! Several copies at once, each by itself: what becomes of one doesn't touch the others.

use parking_lot::Mutex;

use garland_control::{CopyJob, Moments, NodeOutcome, Outcome, run_copy};
use garland_core::plan::Plan;
use garland_core::trace::Trace;
use garland_dataplane::{Packing, Tracing};
use garland_protocol::ReadBack;
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;

use crate::cp::gathering::tasks::GatherTask;
use crate::cp::progress::{Bars, NodeNow};
use garland_fleet::at_once::{ASKED, at_once};
use garland_results::copied::Copied;

/// What all copies of a command have in common.
pub struct Common<'a> {
    /// Whether blocks are sealed.
    pub sealed: bool,
    /// Congestion controls to ask for, best first.
    pub congestion: Vec<String>,
    /// What data links speak.
    pub transport: Transport,
    /// What is found out about every file before it gets its name.
    pub read_back: ReadBack,
    /// How copies are traced.
    pub tracing: Option<Tracing>,
    /// Keeps a copy's traces.
    pub keep: &'a (dyn Fn(&Plan, &[Trace]) + Sync),
    /// What tells that the user gave up.
    pub interrupts: &'a Interrupts,
    /// Without a word on the terminal but who is waited for.
    pub quiet: bool,
    /// Without any.
    pub silent: bool,
    /// Programs are told how far all are.
    pub for_programs: bool,
}

/// How far all copies are.
struct Shown {
    bars: Bars,
    /// By copy.
    nodes: Vec<Vec<NodeNow>>,
}

/// Makes all copies, and shows how far they are.
pub fn take_all(takes: Vec<GatherTask>, common: &Common<'_>) -> Vec<Copied> {
    let all = takes.iter().flat_map(|take| {
        let nodes = take.plan.receivers();
        nodes.map(|(id, node)| (node.name.clone(), take.plan.bytes_of(id)))
    });
    let (names, lengths) = all.unzip();
    let waiting = |take: &GatherTask| vec![NodeNow::WAITING; take.plan.nodes.len() - 1];
    let shown = Mutex::new(Shown {
        bars: Bars::of_parts(names, lengths, common.quiet)
            .silent(common.silent)
            .for_programs(common.for_programs),
        nodes: takes.iter().map(waiting).collect(),
    });
    let items: Vec<_> =
        takes.into_iter().enumerate().map(|(at, take)| (at, Mutex::new(Some(take)))).collect();
    let copies = at_once(&items, ASKED, |(at, take)| {
        // Each is taken once, by whoever works on it.
        let take = take.lock().take()?;
        Some(make(take, *at, common, &shown))
    });
    shown.into_inner().bars.clear();
    copies.into_iter().flatten().collect()
}

fn make(take: GatherTask, at: usize, common: &Common<'_>, shown: &Mutex<Shown>) -> Copied {
    let GatherTask { plan, agents, ends, stripes, pipeline, policy, .. } = take;
    let mut outcome = match agents {
        Err(reason) => failed(&plan, &reason),
        Ok(agents) => {
            let job = CopyJob {
                late: None,
                plan: &plan,
                ends,
                stripes,
                known: None,
                pipeline,
                read_back: common.read_back,
                sealed: common.sealed,
                packing: Packing::None,
                congestion: common.congestion.clone(),
                transport: common.transport,
                policy,
                tracing: common.tracing,
                injections: Vec::new(),
            };
            run_copy(&job, agents, Some(common.interrupts), &mut |progress| {
                let mut shown = shown.lock();
                let Shown { bars, nodes } = &mut *shown;
                nodes[at] = NodeNow::all(&plan, progress);
                let nodes: Vec<NodeNow> = nodes.iter().flatten().copied().collect();
                bars.show_nodes(progress.now_ns, &nodes);
            })
            .unwrap_or_else(|error| failed(&plan, &format!("on this machine: {error}")))
        }
    };
    (common.keep)(&plan, &std::mem::take(&mut outcome.traces));
    Copied { plan, outcome }
}

/// How a copy has ended that never began.
fn failed(plan: &Plan, reason: &str) -> Outcome {
    let now = clock::now_ns();
    let moments = Moments {
        waited: None,
        ready: now,
        first: now,
        sent: now,
        held: now,
        committed: now,
        closed: now,
    };
    let node = |name: &str| NodeOutcome::failed(name, reason.to_owned());
    Outcome {
        nodes: plan.receivers().map(|(_, planned)| node(&planned.name)).collect(),
        moments,
        faults: Vec::new(),
        bad_frames: Vec::new(),
        interrupted: reason == "interrupted",
        traces: Vec::new(),
        depths: Vec::new(),
        digests: None,
        sent_bytes: 0,
        checksum: None,
    }
}
