//! Garland among programs of others: sshd, Slurm, Python, libfabric, package managers, kernels of
//! years ago.

mod fabric;
mod old_kernel;
mod packages;
mod python;
mod slurm;
mod ssh;

use garland_testkit::{Garland, Scratch};

/// The built program; its state and the nodes' directories are in `scratch`.
fn garland_in(scratch: &Scratch) -> Garland<'_> {
    Garland::new(env!("CARGO_BIN_EXE_garland"), scratch)
}
