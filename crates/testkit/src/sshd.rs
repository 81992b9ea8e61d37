//! An sshd on every node, which accepts the key of the head.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::machines::Machines;

/// Machines on whose nodes an sshd runs.
#[derive(Debug)]
pub struct Sshd {
    /// The head and the nodes.
    pub machines: Machines,
}

impl Sshd {
    /// Starts `nodes` nodes; see [`Machines::start`] for `hidden`. The head's cluster file is
    /// `/mnt/head/cluster.toml`.
    ///
    /// # Errors
    /// When this process is not root, or sshd is missing.
    pub fn start(nodes: u8, hidden: &Path) -> Result<Self> {
        let machines = Machines::start(nodes, hidden)?;
        machines.shell(
            0,
            "mkdir -p /mnt/ssh; cd /mnt/ssh; \
             for key in host user stranger; do ssh-keygen -q -t ed25519 -N '' -f $key; done; \
             key=$(cut -d ' ' -f 1-2 host.pub); \
             for node in $(seq 1 254); do echo \"n$node,10.99.0.$node $key\"; done >known",
        )?;
        let server = "HostKey /mnt/ssh/host\nAuthorizedKeysFile /mnt/ssh/user.pub\nPidFile none\n\
                      StrictModes no\nPermitRootLogin yes\nUsePAM no\nMaxStartups 200\n";
        let client = "IdentityFile /mnt/ssh/user\nIdentitiesOnly yes\n\
                      UserKnownHostsFile /mnt/ssh/known\nStrictHostKeyChecking yes\n";
        fs::write(machines.seen(0, "/mnt/ssh/sshd_config"), server).context("sshd_config")?;
        fs::write(machines.seen(0, "/mnt/ssh/config"), client).context("ssh's configuration")?;
        let sshd = Self { machines };
        sshd.cluster_file("")?;
        for node in 1..=nodes {
            sshd.machines.daemon(
                node,
                &["/usr/sbin/sshd", "-D", "-e", "-f", "/mnt/ssh/sshd_config"],
                "Server listening",
            )?;
        }
        Ok(sshd)
    }

    /// Writes the head's cluster file with further options for ssh, such as `"-i",
    /// "/mnt/ssh/other"`.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn cluster_file(&self, options: &str) -> Result<()> {
        let nodes = self.machines.nodes();
        let text = format!(
            "version = 1\nnodes = \"n[1-{}]\"\n[ssh]\noptions = [\"-F\", \"/mnt/ssh/config\", {options}]\n",
            nodes.saturating_add(1)
        );
        fs::write(self.machines.seen(0, "/mnt/head/cluster.toml"), text).context("cluster file")
    }
}
