//! BitTorrent by libtorrent: every node fetches pieces from all that have them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xtask::clock::Watch;

use super::super::field::{DIR, Field, wait_listening};
use super::super::peer::{Facts, Job, Peer, Timing};
use super::super::processes::{Processes, alone};

const PORT: u16 = 6881;

/// The interpreter for which Debian has libtorrent's module.
const PYTHON: &str = "/usr/bin/python3";

/// The script `bench/peers/torrent.py`.
#[derive(Default)]
pub(crate) struct BitTorrent {
    script: PathBuf,
}

impl BitTorrent {
    fn torrent() -> PathBuf {
        Path::new(DIR).join("source.torrent")
    }

    /// Returns the directory in which nodes say that they have the file.
    fn folder_of_those_done() -> PathBuf {
        Path::new(DIR).join("torrent-done")
    }
}

impl Peer for BitTorrent {
    fn facts(&self) -> Facts {
        Facts {
            name: "bittorrent",
            about: "BitTorrent over TCP by libtorrent, pieces of 1 MiB, each node knows all others as from a tracker; \
         SHA-1 or SHA-256 of each piece, no encryption; the torrent file is made beforehand, the clients are started for every copy",
            needs: &[("python3-libtorrent", "/var/lib/dpkg/info/python3-libtorrent.list")],
            version: &["dpkg-query", "-W", "python3-libtorrent"],
            forwards: true,
        }
    }

    fn prepare(&mut self, root: &Path, field: &Field, job: &Job) -> Result<Processes> {
        self.script = root.join("bench/peers/torrent.py");
        let mut command = field.command(0, PYTHON)?;
        command.arg(&self.script).arg("make").arg(&job.source).arg(Self::torrent());
        alone(field, 0, command)?;
        Ok(Processes::default())
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let done = Self::folder_of_those_done();
        // It is left by an earlier copy, or not there.
        let _ = fs::remove_dir_all(&done);
        fs::create_dir(&done).with_context(|| format!("failed to create {}", done.display()))?;
        let addresses = (0..=job.receivers).map(|node| field.address(node));
        let addresses: Vec<String> = addresses.collect::<Result<_>>()?;
        let source = job.source.file_name().context("the source has no name")?;
        let folder = job.source.parent().context("the source has no directory")?;
        let mut processes = Processes::default();
        let watch = Watch::start();
        for node in 0..=job.receivers {
            let own = field.dir(node);
            let mut command = field.command(node, PYTHON)?;
            command.arg(&self.script).arg("share").arg(Self::torrent());
            match node {
                0 => command.arg(folder).arg(source),
                _ => command.arg(own).arg(Job::COPY),
            };
            command.args([&PORT.to_string(), &addresses[node]]).arg(&done);
            // Those before it listen: one connection for each two nodes is enough.
            command.arg(job.receivers.to_string()).args(&addresses[..node]);
            let child = processes.start(node, command)?;
            if node == 0 {
                wait_listening(child, "tcp", PORT)?;
            }
        }
        processes.each(|child| wait_listening(child, "tcp", PORT))?;
        let start = watch.read();
        processes.finish(field)?;
        Ok(Timing { start, transfer: watch.read() - start })
    }
}
