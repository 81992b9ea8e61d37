//! Commands end to end in labs: networks of namespaces on this machine, with wires of chosen rates
//! and faults.

mod explain;
mod healthy;
mod lab_faults;
mod lab_nodes;
mod labs;
mod net;
mod ping;
mod scenarios;
mod verify;
mod wires;

use garland_testkit::{Garland, Scratch};

/// The built program; its state and the nodes' directories are in `scratch`.
fn garland_in(scratch: &Scratch) -> Garland<'_> {
    Garland::new(env!("CARGO_BIN_EXE_garland"), scratch)
}
