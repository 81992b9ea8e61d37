//! rsync: all nodes pull from the head at the same time.

use std::path::Path;

use anyhow::{Context, Result};
use xtask::clock::Watch;

use super::super::field::{DIR, Field, wait_listening};
use super::super::peer::{Facts, Job, Peer, Timing};
use super::super::processes::Processes;

const PORT: u16 = 873;

/// An rsync daemon on the head, from which every node pulls.
pub(crate) struct Rsync;

impl Peer for Rsync {
    fn facts(&self) -> Facts {
        Facts {
            name: "rsync",
            about: "rsync in parallel: every node pulls the whole file from a daemon on the head, no ssh; the daemon \
         stands between copies",
            needs: &[("rsync", "rsync")],
            version: &["rsync", "--version"],
            forwards: false,
        }
    }

    fn prepare(&mut self, _root: &Path, field: &Field, _job: &Job) -> Result<Processes> {
        let configuration = format!("{DIR}/rsyncd.conf");
        let text = format!(
            "use chroot = no\nuid = root\ngid = root\nlisten backlog = 128\n[bench]\npath = {DIR}\n"
        );
        std::fs::write(&configuration, text).context("failed to write rsyncd.conf")?;
        let mut command = field.command(0, "rsync")?;
        command.args(["--daemon", "--no-detach", "--config", &configuration]);
        let mut daemon = Processes::default();
        wait_listening(daemon.start(0, command)?, "tcp", PORT)
            .context("failed to start rsync's daemon")?;
        Ok(daemon)
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let name = job.source.file_name().unwrap_or_default().to_string_lossy();
        let from = format!("rsync://{}/bench/{name}", field.address(0)?);
        let mut processes = Processes::default();
        let watch = Watch::start();
        for node in 1..=job.receivers {
            let mut command = field.command(node, "rsync")?;
            command.args(["--whole-file", "--inplace", &from, Job::COPY]);
            processes.start(node, command)?;
        }
        processes.finish(field)?;
        Ok(Timing { start: std::time::Duration::ZERO, transfer: watch.read() })
    }
}
