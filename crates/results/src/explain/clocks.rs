//! The clocks of nodes in the result of `garland explain`.

use garland_analysis::clock::Clocks;
use garland_core::units::Nanos;
use serde::Serialize;

use crate::explain::read::Kept;

/// The clock of one node, compared with the head's.
#[derive(Debug, Serialize)]
pub(super) struct ClockResult {
    pub(super) node: String,
    /// The offset from the head's clock at the beginning of the node's trace, in nanoseconds;
    /// positive if the node's clock is ahead, `None` if unknown.
    pub(super) ahead_ns: Option<i64>,
    /// The maximum error of the node's times after conversion to the head's clock, in nanoseconds;
    /// `None` if unknown.
    pub(super) error_ns: Option<u64>,
    /// The lower and upper bound of the drift rate, in parts per million; `None` if unknown.
    pub(super) rate_ppm: Option<[f64; 2]>,
    pub(super) steps: Vec<StepResult>,
    /// The number of blocks that arrived before they were sent by more than the clocks' errors.
    pub(super) contradictions: usize,
    /// The faults of the clock, as text; `None` if there are none.
    pub(super) fault: Option<String>,
}

/// A jump of a node's clock.
#[derive(Debug, Serialize)]
pub(super) struct StepResult {
    pub(super) by_ns: i64,
    pub(super) error_ns: u64,
}

/// The maximum drift of a working clock against another one, in parts per million.
const SOUND_PPM: f64 = 80.0;

/// The maximum offset in nanoseconds between nodes of one machine, which share a clock. The limit
/// is not 0, since reading the clock takes time.
const ONE_CLOCK_NS: u64 = 1_000_000;

/// Returns the clocks of all nodes that have a trace, except the head's. `errors` has the maximum
/// error of each node's times in nanoseconds.
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
            faults.push(format!("it is {by} {way} the head's, although both are on one machine"));
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
