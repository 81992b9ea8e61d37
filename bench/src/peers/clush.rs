//! `clush --copy` over ssh, the usual way to copy a small file to many nodes.

use std::path::Path;

use anyhow::Result;
use xtask::clock::Watch;

use super::super::field::Field;
use super::super::peer::{Facts, Job, Peer, Timing};
use super::super::processes::{Processes, alone};
use super::sshd::{self, HERE};

/// Size of the largest file in bytes; larger ones take minutes, since the head sends each copy over
/// ssh.
const LARGEST: u64 = 100_000_000;

/// `clush --copy` to an sshd on every node.
pub(crate) struct Clush;

impl Peer for Clush {
    fn facts(&self) -> Facts {
        Facts {
            name: "clush",
            about: "clush --copy over ssh (scp, 64 at once) to an sshd on every node, no connection kept; files up to \
         100 MB only",
            needs: &[("clustershell", "clush"), sshd::NEEDS[0], sshd::NEEDS[1]],
            version: &["clush", "--version"],
            forwards: false,
        }
    }

    fn takes(&self, job: &Job) -> bool {
        job.bytes <= LARGEST
    }

    fn prepare(&mut self, _root: &Path, field: &Field, job: &Job) -> Result<Processes> {
        sshd::start(field, job.receivers)
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let addresses: Vec<String> =
            (1..=job.receivers).map(|n| field.address(n)).collect::<Result<_>>()?;
        let mut command = field.command(0, "clush")?;
        command
            .args(["-f", "64", "-S", "-o", &format!("-F {}", sshd::config())])
            .args(["-w", &addresses.join(","), "--copy"])
            .arg(&job.source)
            .args(["--dest", &format!("{HERE}/{}", Job::COPY)]);
        let watch = Watch::start();
        alone(field, 0, command)?;
        Ok(Timing { start: std::time::Duration::ZERO, transfer: watch.read() })
    }
}
