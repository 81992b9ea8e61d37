//! An sshd on every node, for tools that use ssh.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use xtask::packages::Need;

use super::super::field::{DIR, Field, wait_listening};
use super::super::processes::Processes;
use super::super::sandbox::command;

const PORT: u16 = 22;
/// The path at which every node sees its own directory.
pub(super) const HERE: &str = "/run/garland-bench/here";
/// The packages of server and client.
pub(super) const NEEDS: [Need; 2] = [("openssh-client", "ssh"), ("openssh-server", "sshd")];

/// Returns the path of ssh's configuration at the head.
pub(super) fn config() -> String {
    format!("{DIR}/ssh/config")
}

/// Starts an sshd on nodes 1 to `receivers`. Each node has its own cache directory, and accepts the
/// key that [`config`] names.
pub(super) fn start(field: &Field, receivers: usize) -> Result<Processes> {
    let keys = format!("{DIR}/ssh");
    if !Path::new(&keys).exists() {
        fs::create_dir(&keys).with_context(|| format!("failed to create {keys}"))?;
        for key in ["host", "user"] {
            let key = format!("{keys}/{key}");
            command(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &key])?;
        }
    }
    let server = format!(
        "HostKey {keys}/host\nAuthorizedKeysFile {keys}/user.pub\nPidFile none\nStrictModes no\n\
         PermitRootLogin yes\nUsePAM no\nMaxStartups 100\nSubsystem sftp internal-sftp\n\
         SetEnv XDG_CACHE_HOME={HERE}/cache\n"
    );
    fs::write(format!("{keys}/sshd_config"), server).context("failed to write sshd_config")?;
    let client = format!(
        "IdentityFile {keys}/user\nUserKnownHostsFile /dev/null\nStrictHostKeyChecking no\n\
         LogLevel ERROR\n"
    );
    fs::write(config(), client).context("failed to write ssh's configuration")?;
    fs::create_dir_all(HERE).with_context(|| format!("failed to create {HERE}"))?;
    let mut daemons = Processes::default();
    for node in 1..=receivers {
        // Every node sees its own directory at the same path. Login shells find no start-up file of
        // this machine's user: only tools that run commands on nodes would take the time for it.
        let start = format!(
            "mount --bind . {HERE}; if [ -e ~/.bashrc ]; then mount --bind /dev/null ~/.bashrc; fi; exec \"$@\""
        );
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
    Ok(daemons)
}
