//! Attributes the use of disks, network and CPUs in a round to its copies.

use garland_analysis::balance::Took;
use garland_protocol::measure::NodeUse;
use garland_protocol::operation::balance::{CopyPair, PairOutcome};

use super::series::Round;

/// Returns, for each copy of `round`, the seconds that it took, and the seconds for which it used
/// disks, the network and CPUs.
pub fn took(round: &Round) -> Vec<Took> {
    let course = &round.course;
    let copies = round.errands.iter().zip(&course.errands);
    copies.map(|(errand, copy)| one(errand, copy, &course.uses)).collect()
}

fn one(errand: &CopyPair, copy: &PairOutcome, uses: &[(usize, NodeUse)]) -> Took {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let ends = uses.iter().filter(|(node, _)| [errand.from, errand.to].contains(node));
    let most = |of: fn(&NodeUse) -> u64| {
        seconds(ends.clone().map(|(_, used)| of(used)).max().unwrap_or(0))
    };
    // Time in which bytes were sent, without the time in which the receiver's window was full.
    let sent = copy.lanes.iter().map(|lane| lane.busy_us.saturating_sub(lane.window_limited_us));
    let sent = sent.max().filter(|_| errand.is_remote()).unwrap_or(0);
    Took {
        seconds: seconds(copy.took_ns.unwrap_or(0)),
        disk: most(|used| used.disk_ns),
        network: sent as f64 / 1e6,
        cpu: most(|used| used.awake_ns),
    }
}
