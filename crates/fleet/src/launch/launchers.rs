//! Chooses the launcher of a command, and keeps the state that all starts by the launcher share.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use garland_control::Agent;
use garland_core::cluster::nodelist::{self, NoSources};
use garland_core::cluster::{Cluster, Launcher, Node};

use super::binary::Binary;
use super::child::LaunchedChild;
use super::error::{LaunchError, cannot};
use super::orders::{LaunchResult, Orders};
use super::slurm::SlurmStep;
use super::spread::Spread;
use super::ssh::{Login, Logins};
use crate::args::LauncherName;

/// The launchers for the nodes of one command.
pub struct Launchers<'a> {
    nodes: &'a [Node],
    cluster: Option<&'a Cluster>,
    launcher: Launcher,
    slurm_step: OnceLock<Result<SlurmStep, LaunchError>>,
    logins: OnceLock<Result<Logins, LaunchError>>,
    spread: Spread,
}

impl<'a> Launchers<'a> {
    /// Creates the launchers for `nodes`, which `launcher` starts. Logs are written to the
    /// directory `logs`.
    pub fn new(
        nodes: &'a [Node],
        cluster: Option<&'a Cluster>,
        launcher: Launcher,
        logs: &Path,
    ) -> Self {
        let spread = Spread::new(&logs.join("binary.log"));
        let slurm_step = OnceLock::new();
        let logins = OnceLock::new();
        Self { nodes, cluster, launcher, slurm_step, logins, spread }
    }

    /// Returns the maximum number of agents to start at the same time.
    pub fn fanout(&self) -> usize {
        let fanout = self.cluster.map_or(garland_core::cluster::DEFAULT_FANOUT, |c| c.ssh.fanout);
        usize::try_from(fanout).unwrap_or(usize::MAX)
    }

    /// Returns whether agents that outlive the command can be started.
    pub fn can_stand(&self) -> bool {
        self.launcher != Launcher::Slurm
    }

    /// Starts the agent of `node`, with the log file `log`.
    pub fn start(&self, node: &Node, orders: &Orders, log: &Path) -> LaunchResult {
        match self.launcher {
            Launcher::Ssh => self.logins()?.launch(node, orders, log, &self.spread),
            Launcher::Slurm => self.slurm_step(orders, log)?.take(node),
            Launcher::Local => Err(LaunchError::Refused(format!(
                "{} is not a local node; the launcher local starts only local1, local2 and so on",
                node.name
            ))),
        }
    }

    /// Returns how `node` is logged in to; `None` if it is not by ssh.
    pub fn login(&self, node: &Node) -> Option<Login> {
        let ssh = || self.cluster.map(|cluster| cluster.ssh.clone()).unwrap_or_default();
        (self.launcher == Launcher::Ssh).then(|| Login { host: node.host.clone(), ssh: ssh() })
    }

    /// Reports that the start of `node` has ended, with or without an agent. Other starts may wait
    /// for this.
    pub fn settle(&self, node: &Node, agent: Option<&mut Agent>) {
        // Only with ssh does the start of one node depend on that of another.
        if self.launcher == Launcher::Ssh && self.nodes.len() > 1 {
            self.spread.settle(&node.name, agent);
        }
    }

    /// Returns the processes that agents share; none unless they were started in a Slurm step.
    pub fn into_children(self) -> Vec<LaunchedChild> {
        let step = self.slurm_step.into_inner().and_then(Result::ok);
        step.map(SlurmStep::into_children).unwrap_or_default()
    }

    /// Returns the Slurm step. The first caller starts the step; others wait for it.
    fn slurm_step(&self, orders: &Orders, log: &Path) -> Result<&SlurmStep, LaunchError> {
        let made = self.slurm_step.get_or_init(|| {
            let binary = running()?;
            SlurmStep::launch(self.nodes, &binary, orders, &log.with_file_name("srun.log"))
        });
        made.as_ref().map_err(Clone::clone)
    }

    fn logins(&self) -> Result<&Logins, LaunchError> {
        let made = self.logins.get_or_init(|| {
            let binary = running()?;
            let ssh = self.cluster.map(|cluster| cluster.ssh.clone()).unwrap_or_default();
            Ok(Logins::new(ssh, Arc::new(binary)))
        });
        made.as_ref().map_err(Clone::clone)
    }
}

fn running() -> Result<Binary, LaunchError> {
    Binary::running().map_err(cannot("read the running program", ""))
}

/// Chooses the launcher of a command: the user's choice `asked`, or else the one in the cluster
/// file, or else ssh. Unless the user chose it, ssh is replaced by Slurm if all of `nodes` are in
/// the node list `allocation`.
pub fn choose<'a>(
    nodes: impl Iterator<Item = &'a Node>,
    cluster: Option<&Cluster>,
    asked: Option<LauncherName>,
    allocation: Option<&str>,
) -> Launcher {
    match asked {
        Some(LauncherName::Ssh) => Launcher::Ssh,
        Some(LauncherName::Slurm) => Launcher::Slurm,
        Some(LauncherName::Local) => Launcher::Local,
        None => cluster.and_then(|cluster| cluster.launcher).unwrap_or_else(|| {
            let is_allocated = allocation.is_some_and(|list| holds(list, nodes));
            if is_allocated { Launcher::Slurm } else { Launcher::Ssh }
        }),
    }
}

/// Returns whether all of `nodes` are in the node list of an allocation.
fn holds<'a>(list: &str, mut nodes: impl Iterator<Item = &'a Node>) -> bool {
    let Ok(names) = nodelist::expand(list, &NoSources) else { return false };
    let names: HashSet<String> = names.into_iter().collect();
    nodes.all(|node| names.contains(&node.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurm_is_used_if_all_nodes_are_in_the_allocation_and_no_launcher_is_set() {
        let nodes = ["n2", "n3"].map(Node::named);
        let chosen = |asked, allocation| choose(nodes.iter(), None, asked, allocation);
        let text = "version = 1\nlauncher = \"ssh\"\nnodes = \"n[1-3]\"\n";
        let file = Cluster::parse(text, "cluster.toml").expect("a cluster file");
        let set = choose(nodes.iter(), Some(&file), None, Some("n[1-3]"));
        assert_eq!(set, Launcher::Ssh);
        assert_eq!(chosen(None, None), Launcher::Ssh);
        assert_eq!(chosen(None, Some("n[1-3]")), Launcher::Slurm);
        assert_eq!(chosen(None, Some("n[3-4]")), Launcher::Ssh);
        assert_eq!(chosen(Some(LauncherName::Ssh), Some("n[1-3]")), Launcher::Ssh);
    }
}
