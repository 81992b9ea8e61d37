//! The bottleneck of concurrent copies: disk, network or CPU; the number of remote copies up to
//! which the network costs nothing; and the gain from a faster resource.
//!
//! Each resource of a copy is in use for part of its time. The copies that end last determine the
//! total time; the resource that they use nearly all the time is the bottleneck. With a resource
//! twice as fast, its time halves until the next resource is the bottleneck: the bottleneck law
//! (Denning and Buzen, The operational analysis of queueing network models, Computing Surveys 10,
//! 1978). Time in which no resource is in use does not change.

mod binding;
mod verdict;

pub use binding::{Binding, Resource, Shares, Took, bind, forecast};
pub use verdict::{Balance, Point, balance};
