//! The script of 2005: a chain of named pipes, tee and netcat.

use std::path::Path;

use anyhow::{Context, Result};

use super::super::field::Field;
use super::super::peer::{Facts, Job, Peer, Timing};
use super::super::processes::Processes;
use super::relay::{Order, chain};

const PORT: u16 = 7002;

/// The script `bench/peers/pipes.sh`.
#[derive(Default)]
pub(crate) struct Pipes {
    program: String,
}

impl Peer for Pipes {
    fn facts(&self) -> Facts {
        Facts {
            name: "pipes",
            about: "the script of 2005 (pdist_file), rewritten: a chain of named pipes, tee and netcat; \
         started one by one for every copy, straight in the nodes without a remote shell",
            needs: &[("netcat-openbsd", "nc.openbsd")],
            version: &["dpkg-query", "-W", "netcat-openbsd"],
            forwards: true,
        }
    }

    fn prepare(&mut self, root: &Path, _field: &Field, _job: &Job) -> Result<Processes> {
        let program = root.join("bench/peers/pipes.sh");
        let program = program.to_str().context("the repository's path is not valid UTF-8")?;
        program.clone_into(&mut self.program);
        Ok(Processes::default())
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        chain(field, job, &self.program, PORT, Order::OneByOne, &[])
    }
}
