//! What is to be said of a node's clock.

use garland_analysis::clock::Clocks;
use garland_core::units::Nanos;
use serde::Serialize;

use crate::explain::read::Kept;

/// A node's clock against the head's.
#[derive(Debug, Serialize)]
pub(super) struct ClockResult {
    pub(super) node: String,
    /// By how much it was ahead when the node's part began; none where that is open.
    pub(super) ahead_ns: Option<i64>,
    /// How far times of this node may be off on the head's clock, anywhere in the run.
    pub(super) error_ns: Option<u64>,
    /// The least and the largest rate, in parts per million.
    pub(super) rate_ppm: Option<[f64; 2]>,
    pub(super) steps: Vec<StepResult>,
    /// Blocks that came in before they were sent, whatever the errors.
    pub(super) contradictions: usize,
    /// What is wrong with it, in words.
    pub(super) fault: Option<String>,
}

/// A jump.
#[derive(Debug, Serialize)]
pub(super) struct StepResult {
    pub(super) by_ns: i64,
    pub(super) error_ns: u64,
}

/// Two sound crystals are no farther apart.
const SOUND_PPM: f64 = 80.0;

/// On one machine there is one clock, and anything beyond reading it is a fault.
const ONE_CLOCK_NS: u64 = 1_000_000;

/// The clocks of all nodes but the head.
pub(super) fn of(kept: &Kept, clocks: &Clocks, errors: &[Option<u64>]) -> Vec<ClockResult> {
    let known = kept.traces.iter().enumerate().skip(1);
    let known = known.filter_map(|(node, trace)| Some((node, trace.as_ref()?)));
    let clock = |(node, trace): (usize, &garland_core::trace::Trace)| {
        let started = i64::try_from(trace.origin.started_ns).unwrap_or(i64::MAX);
        let ahead_ns = clocks.to_head(node, started).map(|moment| started - moment.ns);
        let steps = clocks.steps(node);
        let rate_ppm = clocks.rates(node).map(|(low, high)| [low * 1e6, high * 1e6]);
        let error_ns = errors.get(node).copied().flatten();
        let mut faults: Vec<String> = Vec::new();
        if let (Some(ahead), Some(error), true) = (ahead_ns, error_ns, trace.origin.emulated)
            && ahead.unsigned_abs() > error.max(ONE_CLOCK_NS)
        {
            let way = if ahead > 0 { "ahead of" } else { "behind" };
            let by = Nanos(ahead.unsigned_abs());
            faults.push(format!("{by} {way} the head's, on the same machine"));
        }
        if let Some([low, high]) = rate_ppm
            && (low > SOUND_PPM || high < -SOUND_PPM)
        {
            faults.push(format!("it drifts by {:.0} ppm", f64::midpoint(low, high)));
        }
        for step in &steps {
            let way = if step.by_ns > 0 { "forward" } else { "back" };
            faults.push(format!("it jumped {way} by {}", Nanos(step.by_ns.unsigned_abs())));
        }
        ClockResult {
            node: kept.nodes[node].clone(),
            ahead_ns,
            error_ns,
            rate_ppm,
            steps: steps
                .iter()
                .map(|step| StepResult { by_ns: step.by_ns, error_ns: step.error_ns })
                .collect(),
            contradictions: clocks.contradictions(node),
            fault: (!faults.is_empty()).then(|| faults.join("; ")),
        }
    };
    known.map(clock).collect()
}
