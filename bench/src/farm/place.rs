//! The labs of the farm's benchmark.

use crate::cluster::Cluster;

/// The name of the lab for empty jobs.
pub(super) const LAB: &str = "bench-farm";

/// The labs, and the number of empty jobs.
pub(crate) struct Place {
    /// Two nodes for empty jobs, and the list of these.
    pub(super) cluster: Cluster,
    pub(super) encodes: Cluster,
    pub(super) jobs: usize,
}
