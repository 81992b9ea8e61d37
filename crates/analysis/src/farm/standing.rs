//! What a cluster is worth, against one machine and against the sum of its nodes.

use serde::{Deserialize, Serialize};

/// The power of nodes, in whatever it is counted in: MHz, cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Of the one machine that the cluster is compared with.
    pub one: f64,
    /// Of all nodes that work, together: what the cluster would be worth if nothing were lost.
    pub all: f64,
}

/// Where a cluster stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Its time as a share of one machine's.
    pub of_one: f64,
    /// One machine's time by its own.
    pub speed_up: f64,
    /// The speed-up by that which the nodes' power allows.
    pub efficiency: f64,
    /// The power of one machine that would take as long: the one machine's, times the speed-up.
    pub equivalent: f64,
    /// The nodes' power together.
    pub theory: f64,
    /// How far the equivalent power is from that, as a share of it; below 0 where it is less.
    pub difference: f64,
}

/// Where a cluster stands that took `cluster_s` seconds for what one machine does in `one_s`; none
/// where a time or a power is no positive number.
#[must_use]
pub fn standing(one_s: f64, cluster_s: f64, power: Power) -> Option<Standing> {
    let known = |value: f64| value.is_finite() && value > 0.0;
    if ![one_s, cluster_s, power.one, power.all].into_iter().all(known) {
        return None;
    }
    let speed_up = one_s / cluster_s;
    let equivalent = power.one * speed_up;
    let efficiency = equivalent / power.all;
    Some(Standing {
        of_one: cluster_s / one_s,
        speed_up,
        efficiency,
        equivalent,
        theory: power.all,
        difference: efficiency - 1.0,
    })
}
