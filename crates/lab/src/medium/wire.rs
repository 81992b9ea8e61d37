//! The wire: a bridge of two ports.
//!
//! A veth pair between two nodes could carry the frames as well. With a bridge, both ends can be
//! cut, counted and slowed down like those of other media.

use garland_topology::Medium;

use super::Port;
use super::queue::shape;
use crate::step::Step;

/// Returns the steps that create the token buckets of both ends.
pub(super) fn queues(medium: &Medium, ports: &[Port], exact: bool) -> Vec<Step> {
    ports.iter().filter_map(|port| shape(port, medium.buffer, exact)).collect()
}
