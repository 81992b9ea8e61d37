//! A lab with standing agents and a directory, for one benchmark; dropping it removes both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use garland_lab::{Lab, StateDir};
use serde_json::Value;
use xtask::clock::Watch;

use super::field::wait_listening;
use super::peers::garland_program;

/// A benchmark's directory, and its lab once that is built.
pub(crate) struct Cluster {
    /// The directory of all files of the benchmark.
    pub(crate) folder: PathBuf,
    name: &'static str,
    /// The nodes with standing agents, as a node list; empty if there are none.
    list: String,
    lab: Option<Lab>,
}

impl Cluster {
    /// Creates a directory in `above` for a lab called `name`.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub(crate) fn in_folder(above: &Path, name: &'static str) -> Result<Self> {
        let folder = above.join(format!("garland-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to create {}", folder.display()))?;
        Ok(Self { folder, name, list: String::new(), lab: None })
    }

    /// Builds the lab that a topology describes.
    ///
    /// # Errors
    /// If the lab cannot be built.
    pub(crate) fn raise(&mut self, topology: &str) -> Result<()> {
        let file = self.folder.join("topology.toml");
        fs::write(&file, topology).context("failed to write the topology")?;
        self.garland(&["lab", "up", &file.to_string_lossy(), "--lab", self.name])?;
        let state = StateDir(self.host()?.join("lab"));
        self.lab = Some(Lab::open(&state, self.name)?);
        Ok(())
    }

    /// Starts standing agents on the nodes of `list`.
    ///
    /// # Errors
    /// If an agent does not start.
    pub(crate) fn settle(&mut self, list: &str) -> Result<()> {
        list.clone_into(&mut self.list);
        self.garland(&["up", "--lab", self.name, list]).map(drop)
    }

    /// Runs garland. Returns its run time in seconds and its standard output.
    ///
    /// # Errors
    /// If garland fails; the error contains its output.
    pub(crate) fn garland(&self, words: &[&str]) -> Result<(f64, Vec<u8>)> {
        let mut command = Command::new(garland_program()?);
        command.args(words).current_dir(&self.folder).env("GARLAND_STATE", self.state());
        let watch = Watch::start();
        let output = command.stdin(Stdio::null()).output().context("failed to start garland")?;
        let seconds = watch.read().as_secs_f64();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let told = String::from_utf8_lossy(&output.stdout);
            bail!("`garland {}` failed: {said}{told}", words.join(" "));
        }
        Ok((seconds, output.stdout))
    }

    /// Returns the root directory of a node.
    ///
    /// # Errors
    /// If the lab has no such node.
    pub(crate) fn root(&self, node: &str) -> Result<PathBuf> {
        Ok(self.lab()?.root(node)?)
    }

    /// Returns the address of a node.
    ///
    /// # Errors
    /// If the lab has no such node.
    pub(crate) fn address(&self, node: &str) -> Result<String> {
        Ok(self.lab()?.address(node)?.to_string())
    }

    /// Returns the record of the standing agent on a node.
    ///
    /// # Errors
    /// If the node has no standing agent.
    pub(crate) fn record(&self, node: &str) -> Result<Value> {
        let folder = self.host()?.join(format!("standing-lab-{}", self.name));
        let record = fs::read(folder.join(format!("lab:{node}.json")));
        let record = record.with_context(|| format!("{node} has no standing agent"))?;
        serde_json::from_slice(&record).context("failed to read the record of a standing agent")
    }

    /// Returns a shell command for a node, which runs in the benchmark's directory. A pipe fails if
    /// one of its commands fails.
    ///
    /// # Errors
    /// If the lab has no such node.
    pub(crate) fn shell(&self, node: &str, line: &str) -> Result<Command> {
        let mut command = self.lab()?.command(node, "bash")?;
        command.args(["-o", "pipefail", "-c", line]).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(command)
    }

    /// Starts shell commands, each with its node.
    ///
    /// # Errors
    /// If one of them cannot be started.
    pub(crate) fn start(
        &self,
        lines: impl IntoIterator<Item = (String, Result<String>)>,
    ) -> Result<Running> {
        let mut running = Running(Vec::new());
        for (node, line) in lines {
            let line = line?;
            let child = self.shell(&node, &line)?.spawn();
            running.0.push(child.with_context(|| format!("failed to start `{line}`"))?);
        }
        Ok(running)
    }

    fn lab(&self) -> Result<&Lab> {
        self.lab.as_ref().context("the lab has not been built")
    }

    /// Returns the directory of this host's state.
    fn host(&self) -> Result<PathBuf> {
        let host = fs::read_to_string("/proc/sys/kernel/hostname")
            .context("failed to read the host name")?;
        Ok(self.state().join(host.trim()))
    }

    fn state(&self) -> PathBuf {
        self.folder.join("state")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.lab.take().is_some() {
            let down: &[&str] = &["down", "--lab", self.name, &self.list];
            let agents = Some(down).filter(|_| !self.list.is_empty());
            for words in agents.into_iter().chain([&["lab", "down", "--lab", self.name][..]]) {
                if let Err(error) = self.garland(words) {
                    eprintln!("{error:#}");
                }
            }
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Processes that are killed when this is dropped.
pub(crate) struct Running(Vec<Child>);

impl Running {
    /// Waits until all listen on a TCP port.
    ///
    /// # Errors
    /// If one ends before, or does not listen in time.
    pub(crate) fn listens(mut self, port: u16) -> Result<Self> {
        self.0.iter_mut().try_for_each(|child| wait_listening(child, "tcp", port))?;
        Ok(self)
    }

    /// Waits until all have ended.
    ///
    /// # Errors
    /// If one has another exit code than 0.
    pub(crate) fn finish(mut self) -> Result<()> {
        for child in &mut self.0 {
            let status = child.wait().context("failed to wait for a child")?;
            if !status.success() {
                bail!("a shell command failed: {status}");
            }
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
