//! The wire: a bridge of two ports.
//!
//! A pair of veths from node to node would do for carrying frames. With a port for each end, both
//! can be cut, counted and slowed like those of every other medium.

use garland_topology::Medium;

use super::Port;
use super::queue::shape;
use crate::step::Step;

/// Both ends' buckets.
pub(super) fn queues(medium: &Medium, ports: &[Port], exact: bool) -> Vec<Step> {
    ports.iter().filter_map(|port| shape(port, medium.buffer, exact)).collect()
}
