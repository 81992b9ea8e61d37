//! uftp: multicast with negative acknowledgements at a given rate.

use std::path::Path;

use anyhow::Result;
use xtask::clock::Watch;

use super::super::field::{DIR, Field, wait_listening};
use super::super::peer::{Facts, Job, Peer, Timing};
use super::super::processes::{Processes, alone};

const PORT: u16 = 1044;

/// `uftp` and the daemons `uftpd`.
pub(crate) struct Uftp;

impl Peer for Uftp {
    fn facts(&self) -> Facts {
        Facts {
            name: "uftp",
            about: "uftp, multicast at 90 % of the link's rate (unshaped: as fast as it can), no encryption, the \
         receivers named beforehand; its daemons stay between copies",
            needs: &[("uftp", "uftp")],
            version: &["dpkg-query", "-W", "uftp"],
            forwards: false,
        }
    }

    fn prepare(&mut self, _root: &Path, field: &Field, job: &Job) -> Result<Processes> {
        let mut daemons = Processes::default();
        for node in 1..=job.receivers {
            let mut command = field.command(node, "uftpd")?;
            command
                .args(["-d", "-q", "-I", "eth0", "-U", &identity(node), "-B", "4194304", "-D"])
                .arg(field.dir(node));
            daemons.start(node, command)?;
        }
        daemons.each(|child| wait_listening(child, "udp", PORT))?;
        Ok(daemons)
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let rate = job.rate.map_or(-1, |rate| (rate / 1000 * 9 / 10) as i64);
        let receivers: Vec<_> = (1..=job.receivers).map(identity).collect();
        let mut command = field.command(0, "uftp")?;
        command
            .args(["-R", &rate.to_string(), "-I", "eth0", "-B", "4194304", "-b", "1400"])
            .args(["-H", &receivers.join(","), "-D", Job::COPY, "-E", DIR, "-q"])
            .arg(&job.source);
        let watch = Watch::start();
        alone(field, 0, command)?;
        Ok(Timing { start: std::time::Duration::ZERO, transfer: watch.read() })
    }
}

fn identity(node: usize) -> String {
    format!("0x{node:08x}")
}
