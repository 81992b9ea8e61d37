//! Open MPI: a program that calls `MPI_Bcast` for each piece of the file.

use std::path::Path;

use anyhow::Result;
use xtask::clock::Watch;

use super::super::field::{DIR, Field};
use super::super::peer::{Facts, Job, Peer, Timing};
use super::super::processes::Processes;
use super::super::sandbox;

/// The program `bench/peers/bcast.c`.
#[derive(Default)]
pub(crate) struct Mpi {
    program: String,
}

impl Peer for Mpi {
    fn facts(&self) -> Facts {
        Facts {
            name: "mpi",
            about: "Open MPI, MPI_Bcast in pieces of 1 MiB over its TCP transport, ranks yielding when idle; the time \
         is that of mpirun, which starts a daemon on every node by a remote shell without any cost of ssh",
            needs: &[("openmpi-bin", "mpirun"), ("libopenmpi-dev", "mpicc")],
            version: &["mpirun", "--version"],
            forwards: true,
        }
    }

    fn prepare(&mut self, root: &Path, _field: &Field, _job: &Job) -> Result<Processes> {
        self.program = sandbox::compile(root, "mpicc", "bench/peers/bcast.c", "bcast")?;
        Ok(Processes::default())
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let hosts: Vec<String> =
            (0..=job.receivers).map(|n| field.address(n)).collect::<Result<_>>()?;
        let mut processes = Processes::default();
        let mut command = field.command(0, "mpirun")?;
        command
            .args(["--allow-run-as-root", "--bind-to", "none", "--map-by", "ppr:1:node"])
            .args(["--mca", "plm_rsh_agent", &field.shell()])
            .args(["--mca", "plm_rsh_no_tree_spawn", "1"])
            .args(["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"])
            .args(["--mca", "btl_tcp_if_include", "eth0"])
            .args(["--mca", "oob_tcp_if_include", "eth0"])
            .args(["--mca", "mpi_yield_when_idle", "1"])
            .args(["--host", &hosts.join(",")])
            .arg(&self.program)
            .arg(&job.source)
            .arg(field.roots())
            .env("TMPDIR", DIR);
        let watch = Watch::start();
        processes.start(0, command)?;
        processes.finish(field)?;
        Ok(Timing { start: std::time::Duration::ZERO, transfer: watch.read() })
    }
}
