//! The script of 2005: a chain of named pipes, tee and netcat.

use std::path::Path;

use anyhow::{Context, Result};

use super::super::field::Field;
use super::super::peer::{Job, Peer, Timing};
use super::relay::{Order, chain};
use xtask::packages::Need;

const PORT: u16 = 7002;

/// The script `benches/peers/pipes.sh`.
#[derive(Default)]
pub(crate) struct Pipes {
    program: String,
}

impl Peer for Pipes {
    fn name(&self) -> &'static str {
        "pipes"
    }

    fn about(&self) -> &'static str {
        "the script of 2005 (pdist_file) written anew: a chain of named pipes, tee and netcat; \
         started one by one for every copy, straight in the nodes without a remote shell"
    }

    fn needs(&self) -> &'static [Need] {
        &[("netcat-openbsd", "nc.openbsd")]
    }

    fn version(&self) -> &'static [&'static str] {
        &["dpkg-query", "-W", "netcat-openbsd"]
    }

    fn repeaters(&self, receivers: usize) -> usize {
        receivers - 1
    }

    fn prepare(&mut self, root: &Path, _field: &Field, _job: &Job) -> Result<()> {
        let program = root.join("benches/peers/pipes.sh");
        let program = program.to_str().context("the repository's path is not valid UTF-8")?;
        program.clone_into(&mut self.program);
        Ok(())
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        chain(field, job, &self.program, PORT, Order::OneByOne)
    }
}
