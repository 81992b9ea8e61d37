//! clush over ssh, cold: what people type for a small file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::super::field::{DIR, Field, wait_listening};
use super::super::peer::{Job, Peer, Timing};
use super::super::processes::{Processes, alone};
use super::super::sandbox::command;
use crate::ci::Need;
use crate::clock::Watch;

const PORT: u16 = 22;
/// Where every node sees its own directory.
const HERE: &str = "/run/garland-bench/here";
/// A star over ssh takes minutes for more, and is known to.
const LARGEST: u64 = 100_000_000;

/// `clush --copy` to an sshd on every node.
#[derive(Default)]
pub(crate) struct Clush {
    daemons: Option<Processes>,
}

impl Peer for Clush {
    fn name(&self) -> &'static str {
        "clush"
    }

    fn about(&self) -> &'static str {
        "clush --copy over ssh (scp, 64 at once) to an sshd on every node, no connection kept; files up to \
         100 MB only"
    }

    fn needs(&self) -> &'static [Need] {
        &[("clustershell", "clush"), ("openssh-client", "ssh"), ("openssh-server", "sshd")]
    }

    fn version(&self) -> &'static [&'static str] {
        &["clush", "--version"]
    }

    fn repeaters(&self, _receivers: usize) -> usize {
        0
    }

    fn takes(&self, job: &Job) -> bool {
        job.bytes <= LARGEST
    }

    fn prepare(&mut self, _root: &Path, field: &Field, job: &Job) -> Result<()> {
        let keys = format!("{DIR}/ssh");
        if !Path::new(&keys).exists() {
            fs::create_dir(&keys).with_context(|| format!("make {keys}"))?;
            for key in ["host", "user"] {
                let key = format!("{keys}/{key}");
                command(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &key])?;
            }
        }
        let server = format!(
            "HostKey {keys}/host\nAuthorizedKeysFile {keys}/user.pub\nPidFile none\nStrictModes no\n\
             PermitRootLogin yes\nUsePAM no\nMaxStartups 100\nSubsystem sftp internal-sftp\n"
        );
        fs::write(format!("{keys}/sshd_config"), server).context("write sshd_config")?;
        let client = format!(
            "IdentityFile {keys}/user\nUserKnownHostsFile /dev/null\nStrictHostKeyChecking no\n\
             LogLevel ERROR\n"
        );
        fs::write(format!("{keys}/config"), client).context("write ssh's configuration")?;
        fs::create_dir_all(HERE).with_context(|| format!("make {HERE}"))?;
        let mut daemons = Processes::default();
        for node in 1..=job.receivers {
            // The same path on every node leads to a directory of its own.
            let start = format!("mount --bind . {HERE}; exec \"$@\"");
            let mut command = field.command(node, "unshare")?;
            command.args(["--mount", "sh", "-c", &start, "sh"]).args([
                "/usr/sbin/sshd",
                "-D",
                "-e",
                "-f",
                &format!("{keys}/sshd_config"),
            ]);
            daemons.start(node, command)?;
        }
        daemons.each(|child| wait_listening(child, "tcp", PORT))?;
        self.daemons = Some(daemons);
        Ok(())
    }

    fn copy(&mut self, field: &Field, job: &Job) -> Result<Timing> {
        let addresses: Vec<String> =
            (1..=job.receivers).map(|n| field.address(n)).collect::<Result<_>>()?;
        let mut command = field.command(0, "clush")?;
        command
            .args(["-f", "64", "-S", "-o", &format!("-F {DIR}/ssh/config")])
            .args(["-w", &addresses.join(","), "--copy"])
            .arg(&job.source)
            .args(["--dest", &format!("{HERE}/{}", Job::COPY)]);
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
