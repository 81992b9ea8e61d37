//! What concurrent copies wait for: of disk, network and CPU the one that binds, where the balance
//! between them lies, and what a faster one would give.
//!
//! Each resource of a copy was in use for some of its time. The copies that end last decide when all
//! are done; the resource that they used nearly all the time binds. With a resource twice as fast the
//! time in it halves, and the next one binds: the bottleneck law (Denning and Buzen, The operational
//! analysis of queueing network models, Computing Surveys 10, 1978). Time that no resource was in use
//! for stays as it is.

mod binding;
mod verdict;

pub use binding::{Binding, Resource, Shares, Took, bind, forecast};
pub use verdict::{Balance, Point, balance};
