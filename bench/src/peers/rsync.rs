//! rsync: all nodes pull from the head at the same time.

use std::path::Path;

use anyhow::{Context, Result};

use super::super::field::{DIR, Field, wait_listening};
use super::super::peer::{Job, Peer, Timing};
use super::super::processes::Processes;
use xtask::clock::Watch;
use xtask::packages::Need;

const PORT: u16 = 873;

/// An rsync daemon on the head, from which every node pulls.
#[derive(Default)]
pub(crate) struct Rsync {
    daemon: Option<Processes>,
}

impl Peer for Rsync {
    fn name(&self) -> &'static str {
        "rsync"
    }

    fn about(&self) -> &'static str {
        "rsync in parallel: every node pulls the whole file from a daemon on the head, no ssh; the daemon \
         stands between copies"
    }

    fn needs(&self) -> &'static [Need] {
        &[("rsync", "rsync")]
    }

    fn version(&self) -> &'static [&'static str] {
        &["rsync", "--version"]
    }

    fn repeaters(&self, _receivers: usize) -> usize {
        0
    }

    fn prepare(&mut self, _root: &Path, field: &Field, _job: &Job) -> Result<()> {
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
        self.daemon = Some(daemon);
        Ok(())
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

    fn finish(&mut self, field: &Field) -> Result<()> {
        self.daemon = None;
        field.kill();
        Ok(())
    }
}
