//! The honest floor: a chain that reads, hashes, seals, passes on, opens, compares and writes, and
//! does nothing else. What a real copier costs more is its own.

use std::path::{Path, PathBuf};

use anyhow::Result;
use xtask::clock::Watch;

use super::super::field::{DIR, Field, wait_listening};
use super::super::peer::{Facts, Job, Peer, Timing};
use super::super::processes::Processes;
use super::super::sandbox;

const PORT: u16 = 7002;

/// Where the program is, in the repository.
const SOURCE: &str = "bench/peers/floor";

/// The program `floor` with one set of options.
pub(crate) struct Floor {
    name: &'static str,
    about: &'static str,
    options: &'static [&'static str],
    program: PathBuf,
}

impl Floor {
    /// What the names of all ways begin with.
    pub(crate) const NAME: &'static str = "floor";

    /// Returns all ways: whether one thread a node or two are faster depends on the number of
    /// nodes and processors.
    pub(crate) fn ways() -> [Self; 4] {
        let two = "the honest floor: a chain that reads, hashes (BLAKE3), seals (AES-256-GCM), passes on, \
                   opens, compares and writes each byte once, and does nothing else; two threads a node; \
                   started for every copy, straight in the nodes without a remote shell";
        let clear = "as floor, without AES-256-GCM";
        let options: [(&str, &str, &[&str]); 4] = [
            (Self::NAME, two, &["--threads", "2"]),
            ("floor1", "as floor, with one thread a node", &["--threads", "1"]),
            ("floor-clear", clear, &["--threads", "2", "--clear"]),
            (
                "floor1-clear",
                "as floor-clear, with one thread a node",
                &["--threads", "1", "--clear"],
            ),
        ];
        options.map(|(name, about, options)| Self { name, about, options, program: PathBuf::new() })
    }
}

impl Peer for Floor {
    fn facts(&self) -> Facts {
        Facts {
            name: self.name,
            about: self.about,
            needs: &[],
            version: &["rustc", "--version"],
            forwards: true,
        }
    }

    fn prepare(&mut self, root: &Path, _field: &Field, _job: &Job) -> Result<Processes> {
        let installed = Path::new(DIR).join("floor");
        let built = root.join("target/floor");
        let place = |path: &Path| path.display().to_string();
        // The same dependencies as Garland's, built once.
        sandbox::command(&[
            "cargo",
            "install",
            "--quiet",
            "--locked",
            "--offline",
            "--force",
            "--path",
            &place(&root.join(SOURCE)),
            "--target-dir",
            &place(&built),
            "--root",
            &place(&installed),
        ])?;
        self.program = installed.join("bin/floor");
        Ok(Processes::default())
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let mut processes = Processes::default();
        let port = PORT.to_string();
        let program = self.program.display().to_string();
        let watch = Watch::start();
        for node in (1..=job.receivers).rev() {
            let mut command = field.command(node, &program)?;
            command.args(self.options).args(["recv", &port, Job::COPY]);
            if node < job.receivers {
                command.args([&field.address(node + 1)?, &port]);
            }
            let child = processes.start(node, command)?;
            wait_listening(child, "tcp", PORT)?;
        }
        let start = watch.read();
        let mut command = field.command(0, &program)?;
        command.args(self.options).arg("send").arg(&job.source);
        command.args([&field.address(1)?, &port]);
        processes.start(0, command)?;
        processes.finish(field)?;
        Ok(Timing { start, transfer: watch.read() - start })
    }
}
