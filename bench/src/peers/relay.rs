//! The lower bound: chains of programs that only read and write.

use std::path::Path;

use anyhow::Result;
use xtask::clock::Watch;

use super::super::field::{Field, wait_listening};
use super::super::peer::{Facts, Job, Peer, Timing};
use super::super::processes::Processes;
use super::super::sandbox;

const PORT: u16 = 7001;

/// The program `bench/peers/relay.c` in one of its ways.
pub(crate) struct Relay {
    name: &'static str,
    about: &'static str,
    /// The program's word for the way.
    how: &'static str,
    program: String,
}

impl Relay {
    /// What the names of all ways begin with.
    pub(crate) const NAME: &'static str = "relay";

    /// Returns all ways: which of them is the fastest depends on the number of nodes and
    /// processors.
    pub(crate) fn ways() -> [Self; 3] {
        [
            (
                Self::NAME,
                "plain",
                "the lower bound: a chain of bare C relays (256 KiB blocking reads and writes), no check of any kind; \
                 started for every copy, straight in the nodes without a remote shell",
            ),
            ("relay-threads", "threads", "as relay, but a second thread sends to the next node"),
            ("relay-splice", "splice", "as relay, but by sendfile, tee and splice"),
        ]
        .map(|(name, how, about)| Self { name, about, how, program: String::new() })
    }
}

impl Peer for Relay {
    fn facts(&self) -> Facts {
        Facts {
            name: self.name,
            about: self.about,
            needs: &[("gcc", "cc")],
            version: &["cc", "--version"],
            forwards: true,
        }
    }

    fn prepare(&mut self, root: &Path, _field: &Field, _job: &Job) -> Result<Processes> {
        self.program = sandbox::compile(root, "cc", "bench/peers/relay.c", "relay")?;
        Ok(Processes::default())
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        chain(field, job, &self.program, PORT, Order::AtOnce, &[self.how])
    }
}

/// Whether a node may start before its successor listens.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Order {
    /// Any order; a node retries until its successor listens.
    AtOnce,
    /// The successor must listen first.
    OneByOne,
}

/// Starts `program node FILE NEXT PORT MORE...` on every node from the last, then
/// `program head ...`.
pub(super) fn chain(
    field: &Field,
    job: &Job,
    program: &str,
    port: u16,
    order: Order,
    more: &[&str],
) -> Result<Timing> {
    let mut processes = Processes::default();
    let port_text = port.to_string();
    let watch = Watch::start();
    for node in (1..=job.receivers).rev() {
        let next = if node == job.receivers { "-".to_owned() } else { field.address(node + 1)? };
        let mut command = field.command(node, program)?;
        command.args(["node", Job::COPY, &next, &port_text]).args(more);
        let child = processes.start(node, command)?;
        if order == Order::OneByOne {
            wait_listening(child, "tcp", port)?;
        }
    }
    processes.each(|child| wait_listening(child, "tcp", port))?;
    let start = watch.read();
    let mut command = field.command(0, program)?;
    command.arg("head").arg(&job.source);
    command.args([&field.address(1)?, &port_text]).args(more);
    processes.start(0, command)?;
    processes.finish(field)?;
    Ok(Timing { start, transfer: watch.read() - start })
}
