//! Compares a cluster with one machine, and with the sum of its nodes.

use serde::{Deserialize, Serialize};

/// The power of nodes, in any unit (MHz, cores).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// The power of the machine that the cluster is compared with.
    pub one: f64,
    /// The total power of all working nodes: the cluster's power without losses.
    pub all: f64,
}

/// The comparison of a cluster with one machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// The cluster's time divided by the machine's.
    pub of_one: f64,
    /// The machine's time divided by the cluster's.
    pub speed_up: f64,
    /// The speed-up divided by the maximum speed-up that the nodes' power allows.
    pub efficiency: f64,
    /// The power of a single machine that would take as long.
    pub equivalent: f64,
    /// The total power of the nodes, as in [`Power::all`].
    pub theory: f64,
    /// The relative difference of the equivalent power from the total power; negative if the
    /// equivalent power is less.
    pub difference: f64,
}

/// Compares a cluster that took `cluster_s` seconds with a machine that took `one_s` for the same
/// work; `None` if a time or a power is not a positive number.
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
