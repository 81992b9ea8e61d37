//! A lab with one client and several servers, each on a wire of its own; and the files that tools
//! copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use xtask::clock::Watch;

use crate::cluster::{Cluster, Running};
use crate::contest::{Figure, Setting};
use crate::options::size;
use crate::{memory, sandbox, source};

/// The lab's name.
pub(crate) const LAB: &str = "bench-star";

/// The client's name.
pub(crate) const CLIENT: &str = "srv";

/// Number of copies of the file in memory: its parts, the received parts, and Garland's copies out
/// and in.
const COPIES: usize = 4;

/// The lab, and its files, all in memory; dropping it removes both.
pub(crate) struct Stage {
    /// Number of servers.
    pub(crate) servers: usize,
    /// The file.
    pub(crate) source: PathBuf,
    /// The file's length in bytes.
    pub(crate) bytes: u64,
    /// The path of the bare relay.
    pub(crate) relay: String,
    /// The directory of all files.
    pub(crate) folder: PathBuf,
    cluster: Cluster,
}

impl Stage {
    /// Builds a star of `servers` wires of `rate` with standing agents, and a file whose size is
    /// the value of `--size`.
    pub(crate) fn up(setting: &Setting<'_>, servers: usize, rate: Option<&str>) -> Result<Self> {
        eprintln!("{servers} servers, {} each", rate.unwrap_or("unshaped"));
        let bytes = setting.words.parsed("--size", size)?;
        let root = setting.root;
        memory::check_room(bytes, COPIES)?;
        let mut cluster = Cluster::in_folder(Path::new("/dev/shm"), LAB)?;
        let rate = rate.map_or_else(String::new, |rate| format!("rate = \"{rate}\"\n"));
        cluster.raise(&format!(
            "version = 1\n[topology]\nshape = \"star\"\nbetween = \"isolated\"\n\
             nodes = \"{CLIENT},io[1-{servers}]\"\n{rate}"
        ))?;
        let folder = cluster.folder.clone();
        let relay = sandbox::compile_in(&folder, root, "cc", "bench/peers/relay.c", "relay")?;
        let mut stage =
            Self { servers, source: folder.join("source"), bytes, relay, folder, cluster };
        source::write(&stage.source, bytes)?;
        let share = bytes.div_ceil(servers as u64);
        for server in 1..=servers {
            fs::create_dir_all(stage.dir(server)).context("failed to create a server's folder")?;
            let count = share.min(bytes.saturating_sub(share * (server as u64 - 1)));
            source::write(&stage.part(server), count)?;
        }
        let list = stage.list();
        stage.cluster.settle(&list)?;
        Ok(stage)
    }

    /// Returns the part of the file that `server` gets from a tool without stripes.
    pub(crate) fn part(&self, server: usize) -> PathBuf {
        self.folder.join(format!("part-{server}"))
    }

    /// Returns the directory of `server` for that part.
    pub(crate) fn dir(&self, server: usize) -> PathBuf {
        self.folder.join(format!("io{server}"))
    }

    /// Returns the address of `server`.
    pub(crate) fn address(&self, server: usize) -> Result<String> {
        self.cluster.address(&format!("io{server}"))
    }

    /// Returns the servers as a node list.
    pub(crate) fn list(&self) -> String {
        format!("lab:io[1-{}]", self.servers)
    }

    /// Returns a shell command for a node of the lab.
    pub(crate) fn shell(&self, node: &str, line: &str) -> Result<Command> {
        self.cluster.shell(node, line)
    }

    /// Starts a shell command on every server, and waits until all listen on `port`.
    pub(crate) fn listen(&self, port: u16, line: impl Fn(usize) -> String) -> Result<Running> {
        let lines = (1..=self.servers).map(|server| (format!("io{server}"), Ok(line(server))));
        self.cluster.start(lines)?.listens(port)
    }

    /// Returns the options of ssh on the client.
    pub(crate) fn ssh_options(&self) -> String {
        let key = self.folder.join("key");
        let unknown = "-oStrictHostKeyChecking=no -oUserKnownHostsFile=/dev/null";
        format!("-oIdentityFile={} {unknown}", key.display())
    }

    /// Starts an sshd on every server, which accepts the key of [`Stage::ssh_options`].
    pub(crate) fn sshd(&self) -> Result<Running> {
        let folder = self.folder.display();
        // sshd needs this directory.
        let keys = format!(
            "mkdir -p /run/sshd && test -e key || ssh-keygen -q -t ed25519 -N '' -f key && \
             cp key.pub authorized && printf '%s\\n' 'HostKey {folder}/key' \
             'AuthorizedKeysFile {folder}/authorized' 'StrictModes no' 'UsePAM no' \
             'PermitRootLogin yes' 'PidFile none' 'Subsystem sftp internal-sftp' > sshd.conf"
        );
        let made = self.shell(CLIENT, &keys)?.status().context("failed to create keys")?;
        anyhow::ensure!(made.success(), "failed to create ssh keys: {made}");
        self.listen(22, |_| format!("exec /usr/sbin/sshd -D -f {folder}/sshd.conf"))
    }

    /// Returns a server's root directory.
    pub(crate) fn root(&self, server: usize) -> Result<PathBuf> {
        self.cluster.root(&format!("io{server}"))
    }

    /// Returns seconds of shell commands on the client, one for every server, all at once.
    pub(crate) fn time(&self, line: impl Fn(usize) -> Result<String>) -> Result<f64> {
        let watch = Watch::start();
        let lines = (1..=self.servers).map(|server| (CLIENT.to_owned(), line(server)));
        self.cluster.start(lines)?.finish()?;
        Ok(watch.read().as_secs_f64())
    }

    /// Runs garland. Returns its seconds and its standard output.
    pub(crate) fn garland(&self, words: &[&str]) -> Result<(f64, Vec<u8>)> {
        self.cluster.garland(words)
    }

    /// Returns the file's rate in MB/s if it takes `seconds`.
    pub(crate) fn rate(&self, seconds: f64) -> Figure {
        Figure::from_mean(self.bytes as f64 / 1e6 / seconds)
    }

    /// Fails if two files differ.
    pub(crate) fn assert_equal(one: &Path, other: &Path) -> Result<()> {
        source::verify(one, &[other.to_owned()])
    }
}
