//! uftp: multicast with negative acknowledgements at a given rate.

use std::path::Path;

use anyhow::Result;

use super::super::field::{DIR, Field, wait_listening};
use super::super::peer::{Job, Peer, Timing};
use super::super::processes::{Processes, alone};
use xtask::clock::Watch;
use xtask::packages::Need;

const PORT: u16 = 1044;

/// `uftp` and the daemons `uftpd`.
#[derive(Default)]
pub(crate) struct Uftp {
    daemons: Option<Processes>,
}

impl Peer for Uftp {
    fn name(&self) -> &'static str {
        "uftp"
    }

    fn about(&self) -> &'static str {
        "uftp, multicast at 90 % of the link's rate (unshaped: as fast as it can), no encryption, the \
         receivers named beforehand; its daemons stay between copies"
    }

    fn needs(&self) -> &'static [Need] {
        &[("uftp", "uftp")]
    }

    fn version(&self) -> &'static [&'static str] {
        &["dpkg-query", "-W", "uftp"]
    }

    fn repeaters(&self, _receivers: usize) -> usize {
        0
    }

    fn prepare(&mut self, _root: &Path, field: &Field, job: &Job) -> Result<()> {
        let mut daemons = Processes::default();
        for node in 1..=job.receivers {
            let mut command = field.command(node, "uftpd")?;
            command
                .args(["-d", "-q", "-I", "eth0", "-U", &identity(node), "-B", "4194304", "-D"])
                .arg(field.dir(node));
            daemons.start(node, command)?;
        }
        daemons.each(|child| wait_listening(child, "udp", PORT))?;
        self.daemons = Some(daemons);
        Ok(())
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

    fn finish(&mut self, field: &Field) -> Result<()> {
        self.daemons = None;
        field.kill();
        Ok(())
    }
}

fn identity(node: usize) -> String {
    format!("0x{node:08x}")
}
