//! udpcast: multicast with acknowledgements.

use anyhow::Result;
use xtask::clock::Watch;

use super::super::field::{Field, wait_listening};
use super::super::peer::{Facts, Job, Peer, Timing};
use super::super::processes::Processes;

/// The port for data; the next one is for control.
const PORT: u16 = 9000;

/// `udp-sender` and `udp-receiver`.
pub(crate) struct Udpcast;

impl Peer for Udpcast {
    fn facts(&self) -> Facts {
        Facts {
            name: "udpcast",
            about: "udpcast, multicast in full-duplex mode, no limit of its own on the rate; started for every copy",
            needs: &[("udpcast", "udp-sender")],
            version: &["dpkg-query", "-W", "udpcast"],
            forwards: false,
        }
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let port = PORT.to_string();
        let arguments = ["--interface", "eth0", "--portbase", &port, "--nokbd", "--no-progress"];
        let mut processes = Processes::default();
        let watch = Watch::start();
        for node in 1..=job.receivers {
            let mut command = field.command(node, "udp-receiver")?;
            command.args(arguments).args(["--file", Job::COPY]);
            processes.start(node, command)?;
        }
        processes.each(|child| wait_listening(child, "udp", PORT))?;
        let start = watch.read();
        let mut command = field.command(0, "udp-sender")?;
        command.args(arguments).arg("--file").arg(&job.source).args([
            "--full-duplex",
            "--min-receivers",
            &job.receivers.to_string(),
        ]);
        processes.start(0, command)?;
        processes.finish(field)?;
        Ok(Timing { start, transfer: watch.read() - start })
    }
}
