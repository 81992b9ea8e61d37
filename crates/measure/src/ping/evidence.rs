//! Warnings about what may have distorted a measurement, in words.

use garland_analysis::conditions::{Conditions, Purpose, beware, differences};
use garland_core::cluster::nodelist;
use garland_protocol::measure::{PingPoint, PingSample, PingWait, TargetState};
use garland_terminal::notes;

use super::request::PingRequest;

/// The number of operations below which high percentiles are not reliable.
const FEW: u64 = 1000;

/// Returns a warning if the sample `took` of `point` is not accurate. `timer_ns` is the time to
/// read the clock.
pub fn warn_of_point(point: &PingPoint, took: &PingSample, timer_ns: u64) -> Option<String> {
    let which = format!("{} bytes, {} in flight", point.size, point.depth);
    let (low, high) = took.sojourn.median_between;
    let half = high.saturating_sub(low) as f64 / 2.0 / (took.sojourn.p50.max(1) as f64);
    if took.count < FEW {
        Some(format!("{which}: {} operations are too few for high percentiles", took.count))
    } else if half > 0.01 && took.timed_together == 1 {
        Some(format!("{which}: the error of the median is up to {:.0} %", half * 100.0))
    } else if timer_ns.saturating_mul(10)
        > took.sojourn.p50.saturating_mul(u64::from(took.timed_together))
    {
        Some(format!("{which}: reading the clock takes {timer_ns} ns of each time"))
    } else {
        None
    }
}

/// Returns warnings about conditions of the two nodes that may have distorted the times.
pub fn warn_of(request: &PingRequest, nodes: &[(&str, &Conditions); 2]) -> Vec<String> {
    let polls = [request.task.wait == PingWait::Poll, request.task.target == TargetState::Idle];
    let each = nodes.iter().copied().zip(polls).flat_map(|((name, conditions), polls)| {
        let notes = beware(conditions, Purpose::Times { polls });
        notes.into_iter().map(move |note| (name, note))
    });
    let mut all = notes::folded(each);
    all.extend(differences(nodes, &|names| nodelist::fold(names)));
    all
}
