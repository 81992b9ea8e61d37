//! Garland over ssh: each copy starts an agent on every node over ssh, which ends with the copy.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use xtask::clock::Watch;

use super::super::field::{DIR, Field, STATE};
use super::super::peer::{Extra, Facts, Job, Peer, Timing};
use super::super::processes::{Processes, alone};
use super::garland::{program, result, told};
use super::sshd::{self, HERE};

/// `garland cp` to an sshd on every node.
pub(crate) struct GarlandSsh {
    congestion: String,
}

impl GarlandSsh {
    /// Returns Garland over ssh; its data links use the congestion control `congestion`.
    pub(crate) fn new(congestion: &str) -> Self {
        Self { congestion: congestion.to_owned() }
    }
}

fn cluster() -> String {
    format!("{DIR}/ssh/cluster.toml")
}

impl Peer for GarlandSsh {
    fn facts(&self) -> Facts {
        Facts {
            name: "garland-ssh",
            about: "garland cp over ssh to an sshd on every node, no connection kept, no agent up; the program is \
         on the nodes already",
            needs: &sshd::NEEDS,
            version: &[],
            forwards: true,
        }
    }

    fn prepare(&mut self, _root: &Path, field: &Field, job: &Job) -> Result<Processes> {
        let daemons = sshd::start(field, job.receivers)?;
        let mut text = format!("version = 1\n[ssh]\noptions = [\"-F\", \"{}\"]\n", sshd::config());
        for node in 1..=job.receivers {
            let address = field.address(node)?;
            text += &format!("[[nodes]]\nnames = \"n{node}\"\naddress = \"{address}\"\n");
        }
        fs::write(cluster(), text).context("failed to write the cluster file")?;
        Ok(daemons)
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let mut command = field.command(0, &program()?)?;
        let result = fs::File::create(result()).context("failed to create the result's file")?;
        command
            .args([
                "--json",
                "--cluster",
                &cluster(),
                "cp",
                "--quiet",
                "--whole",
                "--launcher",
                "ssh",
            ])
            .args(["--congestion", &self.congestion])
            .arg(&job.source)
            .arg(format!("n[1-{}]:{HERE}/{}", job.receivers, Job::COPY))
            .env("GARLAND_STATE", STATE)
            .stdout(result);
        let watch = Watch::start();
        alone(field, 0, command).context("garland cp")?;
        Ok(Timing { start: Duration::ZERO, transfer: watch.read() })
    }

    fn extra(&mut self, _field: &Field, _job: &Job) -> Result<Extra> {
        told(false)
    }
}
