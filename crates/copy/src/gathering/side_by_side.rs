//! Runs several copies at once. The copies are independent: the failure of one does not affect the
//! others.

use garland_control::{CopyJob, Moments, NodeOutcome, Outcome, run_copy};
use garland_core::plan::Plan;
use garland_core::trace::Trace;
use garland_dataplane::compress::Packing;
use garland_dataplane::recorder::Tracing;
use garland_fleet::at_once::{ASKED, at_once};
use garland_protocol::copy::Absence;
use garland_results::copy_outcome::Copied;
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;
use garland_sys::sync::Mutex;

use crate::gathering::tasks::GatherTask;
use crate::observer::Observer;
use crate::spec::CopySpec;

/// The parameters that all copies of a command share.
pub struct Common<'a> {
    /// The copy that the user requested.
    pub spec: &'a CopySpec,
    /// The transport of data links.
    pub transport: Transport,
    /// How copies are traced; `None` if they are not.
    pub tracing: Option<Tracing>,
    /// Saves the traces of one copy. Called with the plan of the copy when it ends.
    pub keep: &'a (dyn Fn(&Plan, &[Trace]) + Sync),
    /// The interrupts of the user, which end all copies.
    pub interrupts: &'a Interrupts,
}

/// Runs all copies, and reports their progress to `observer`.
pub fn run_all(
    tasks: Vec<GatherTask>,
    common: &Common<'_>,
    observer: &mut dyn Observer,
) -> Vec<Copied> {
    let plans: Vec<&Plan> = tasks.iter().map(|task| &task.plan).collect();
    observer.begin(&plans);
    let observer = Mutex::new(observer);
    let items: Vec<_> =
        tasks.into_iter().enumerate().map(|(at, task)| (at, Mutex::new(Some(task)))).collect();
    let copies = at_once(&items, ASKED, |(at, task)| {
        // Each task is removed from the list once, by the thread that runs it.
        Some(run(task.lock().take()?, *at, common, &observer))
    });
    observer.into_inner().end();
    copies.into_iter().flatten().collect()
}

fn run(
    task: GatherTask,
    number: usize,
    common: &Common<'_>,
    observer: &Mutex<&mut dyn Observer>,
) -> Copied {
    let GatherTask { plan, agents, ends, stripes, pipeline, policy, .. } = task;
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
                read_back: common.spec.checks.read_back,
                sealed: common.spec.tuning.is_sealed,
                packing: Packing::None,
                congestion: common.spec.tuning.congestion(),
                transport: common.transport,
                policy,
                reached: None,
                tracing: common.tracing,
                injections: Vec::new(),
            };
            run_copy(&job, agents, Some(common.interrupts), &mut |progress| {
                observer.lock().progress(number, &plan, progress);
            })
            .map(|(outcome, _)| outcome)
            .unwrap_or_else(|error| failed(&plan, &format!("on this machine: {error}")))
        }
    };
    // What could not be put in place is known by the names that the node has sent.
    outcome.absence = std::mem::take(&mut outcome.absence).within(policy.absence_max);
    (common.keep)(&plan, &std::mem::take(&mut outcome.traces));
    Copied { plan, outcome }
}

/// Returns the outcome of a copy that did not start.
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
        faults_cut_short: Vec::new(),
        interrupted: reason == "interrupted",
        traces: Vec::new(),
        depths: Vec::new(),
        digests: None,
        sent_bytes: 0,
        absence: Absence::default(),
        checksum: None,
    }
}
