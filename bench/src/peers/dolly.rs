//! dolly of 2005, where it is on PATH: no distribution has it.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xtask::clock::Watch;

use super::super::field::{DIR, Field, wait_listening};
use super::super::peer::{Facts, Job, Peer, Timing};
use super::super::processes::Processes;

/// The port for data; the one for control is the one before it.
const PORT: u16 = 9998;

/// A node finds itself in the list by its host name, so each has its address as its name.
const NAMED: &str = "hostname \"$1\"; shift; exec \"$@\"";

/// The program `dolly`.
pub(crate) struct Dolly {
    program: PathBuf,
}

impl Dolly {
    /// Returns the peer; `None` if there is no `dolly` on PATH.
    pub(crate) fn found() -> Option<Self> {
        let path = env::var_os("PATH")?;
        let mut programs = env::split_paths(&path).map(|folder| folder.join("dolly"));
        Some(Self { program: programs.find(|program| program.is_file())? })
    }

    /// Writes the file that tells the head which nodes take part.
    fn write_list(field: &Field, job: &Job) -> Result<PathBuf> {
        let addresses = (1..=job.receivers).map(|node| field.address(node));
        let addresses: Vec<String> = addresses.collect::<Result<_>>()?;
        let first = &addresses[0];
        let last = &addresses[addresses.len() - 1];
        let mut list = format!("infile {}\noutfile {}\n", job.source.display(), Job::COPY);
        write!(list, "server {}\nfirstclient {first}\nlastclient {last}\n", field.address(0)?)?;
        write!(list, "clients {}\n{}\nendconfig\n", job.receivers, addresses.join("\n"))?;
        let file = Path::new(DIR).join("dolly.conf");
        fs::write(&file, list).context("failed to write dolly's list of nodes")?;
        Ok(file)
    }
}

impl Peer for Dolly {
    fn facts(&self) -> Facts {
        Facts {
            name: "dolly",
            about: "dolly of 2005, as it is on PATH: a chain, blocks of 4 KiB, sync(2) at its end; started for every copy, \
         straight in the nodes without a remote shell",
            needs: &[],
            version: &["dolly", "-V"],
            forwards: true,
        }
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let list = Self::write_list(field, job)?;
        let mut processes = Processes::default();
        let watch = Watch::start();
        for node in (1..=job.receivers).rev() {
            // It writes to partitions, and so to what is there.
            let copy = field.dir(node).join(Job::COPY);
            fs::File::create(&copy)
                .with_context(|| format!("failed to create {}", copy.display()))?;
            let mut command = field.command(node, "unshare")?;
            command.args(["--uts", "sh", "-c", NAMED, "sh", &field.address(node)?]);
            command.arg(&self.program);
            let child = processes.start(node, command)?;
            wait_listening(child, "tcp", PORT)?;
        }
        let start = watch.read();
        let mut command = field.command(0, "unshare")?;
        command.args(["--uts", "sh", "-c", NAMED, "sh", &field.address(0)?]);
        command.arg(&self.program).args(["-s", "-f"]).arg(&list);
        processes.start(0, command)?;
        processes.finish(field)?;
        Ok(Timing { start, transfer: watch.read() - start })
    }
}
