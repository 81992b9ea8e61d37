//! Flows instead of blocks: how long copies and farms take when everything that moves shares wires,
//! disks and processors fairly, and nothing else holds it up.
//!
//! Where the simulator goes through every slice of every block, here a lane is one flow, as fast as the narrowest thing on its whole route, since every relay holds the
//! sender back that is before it. So a copy to ten thousand nodes takes a moment to simulate. Rates are
//! max-min fair (Bertsekas and Gallager, Data Networks, 1992, 6.5.2) and change only when a flow begins
//! or ends.

#![forbid(unsafe_code)]

mod copies;
mod fair;
mod farm;
mod fluid;
mod network;
mod transfers;

pub use copies::{CopyRun, CopyTry, Costs, copy};
pub use farm::{Farm, FarmRun, Files, Job, Machine, Ran, farm};
pub use network::{Network, NoWay, ThereAndBack, Use};
pub use transfers::{Transfer, transfers};
