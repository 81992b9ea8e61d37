//! Commands end to end, on agents that are processes of this machine.

mod again;
mod balance;
mod copy;
mod disk;
mod doctor;
mod farm;
mod forecast;
mod mount;
mod pages;
mod pipes;
mod power;
mod remote;
mod report;
mod results;
mod sessions;
mod stranger;
mod top;
mod trace_export;
mod trees;

use garland_testkit::{Garland, Scratch};

/// The built program; its state and the nodes' directories are in `scratch`.
fn garland_in(scratch: &Scratch) -> Garland<'_> {
    Garland::new(env!("CARGO_BIN_EXE_garland"), scratch)
}
