//! Which launcher reaches a node, and what the launchers of one command share.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use garland_control::Agent;
use garland_core::cluster::nodelist::{self, Sources};
use garland_core::cluster::{Cluster, Launcher, Node};

use super::binary::Binary;
use super::child::LaunchedChild;
use super::orders::{Launched, Orders};
use super::slurm::SlurmStep;
use super::spread::Spread;
use super::ssh::Logins;
use crate::args::LauncherName;

/// The ways to the nodes of one command.
pub struct Ways<'a> {
    nodes: &'a [Node],
    cluster: Option<&'a Cluster>,
    launcher: Launcher,
    squad: OnceLock<Result<SlurmStep, String>>,
    logins: OnceLock<Result<Logins, String>>,
    spread: Spread,
}

impl<'a> Ways<'a> {
    /// By what the user asks for, else by the cluster file; else Slurm starts agents on nodes of
    /// `allocation`, and ssh on others. What is to be kept of the launching goes to the folder
    /// `logs`.
    pub fn new(
        nodes: &'a [Node],
        cluster: Option<&'a Cluster>,
        asked: Option<LauncherName>,
        allocation: Option<&str>,
        logs: &Path,
    ) -> Self {
        let launcher = match asked {
            Some(LauncherName::Ssh) => Launcher::Ssh,
            Some(LauncherName::Slurm) => Launcher::Slurm,
            Some(LauncherName::Local) => Launcher::Local,
            None => match cluster.map_or(Launcher::default(), |cluster| cluster.launcher) {
                Launcher::Ssh if allocation.is_some_and(|list| holds(list, nodes)) => {
                    Launcher::Slurm
                }
                launcher => launcher,
            },
        };
        let spread = Spread::new(&logs.join("binary.log"));
        let (squad, logins) = (OnceLock::new(), OnceLock::new());
        Self { nodes, cluster, launcher, squad, logins, spread }
    }

    /// How many nodes are started at once.
    pub fn fanout(&self) -> usize {
        let fanout = self.cluster.map_or(garland_core::cluster::DEFAULT_FANOUT, |c| c.ssh.fanout);
        usize::try_from(fanout).unwrap_or(usize::MAX)
    }

    /// Starts the agent of `node`; its complaints go to the file `log`, too.
    pub fn start(&self, node: &Node, orders: &Orders, log: &Path) -> Result<Launched, String> {
        match self.launcher {
            Launcher::Ssh => self.logins()?.launch(node, orders, log, &self.spread),
            Launcher::Slurm => self.squad(orders, log)?.take(node),
            Launcher::Local => Err(format!(
                "{} is no node of this machine; those are local1, local2 and so on",
                node.name
            )),
        }
    }

    /// `node` is settled: `agent` can be commanded, or there is none. Other nodes may wait for this.
    pub fn settle(&self, node: &Node, agent: Option<&mut Agent>) {
        // Only logins are one by one, so that one node can wait for another.
        if self.launcher == Launcher::Ssh && self.nodes.len() > 1 {
            self.spread.settle(&node.name, agent);
        }
    }

    /// What agents hang on together.
    pub fn into_child(self) -> Option<LaunchedChild> {
        self.squad.into_inner()?.ok()?.into_child()
    }

    /// The first caller starts them all; the others wait for it.
    fn squad(&self, orders: &Orders, log: &Path) -> Result<&SlurmStep, String> {
        let made = self.squad.get_or_init(|| {
            let binary = running()?;
            SlurmStep::launch(self.nodes, &binary, orders, &log.with_file_name("srun.log"))
        });
        made.as_ref().map_err(Clone::clone)
    }

    fn logins(&self) -> Result<&Logins, String> {
        let made = self.logins.get_or_init(|| {
            let binary =
                Binary::running().map_err(|e| format!("reading the running binary: {e}"))?;
            let ssh = self.cluster.map(|cluster| cluster.ssh.clone()).unwrap_or_default();
            Ok(Logins::new(ssh, Arc::new(binary)))
        });
        made.as_ref().map_err(Clone::clone)
    }
}

fn running() -> Result<Binary, String> {
    Binary::running().map_err(|error| format!("reading the running binary: {error}"))
}

/// Whether an allocation's node list names all of the nodes.
fn holds(list: &str, nodes: &[Node]) -> bool {
    let Ok(names) = nodelist::expand(list, &Nothing) else { return false };
    let names: HashSet<String> = names.into_iter().collect();
    nodes.iter().all(|node| names.contains(&node.name))
}

/// What an allocation's node list may refer to.
struct Nothing;

impl Sources for Nothing {
    fn file(&self, _path: &str) -> Result<String, String> {
        Err("an allocation is written out".to_owned())
    }

    fn group(&self, _name: &str) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn slurm(&self) -> Result<Option<String>, String> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurm_starts_agents_where_it_may() {
        let nodes = ["n2", "n3"].map(Node::named);
        let logs = Path::new("/nosuch");
        let way = |asked, allocation| Ways::new(&nodes, None, asked, allocation, logs).launcher;
        assert_eq!(way(None, None), Launcher::Ssh);
        assert_eq!(way(None, Some("n[1-3]")), Launcher::Slurm);
        assert_eq!(way(None, Some("n[3-4]")), Launcher::Ssh);
        assert_eq!(way(Some(LauncherName::Ssh), Some("n[1-3]")), Launcher::Ssh);
    }
}
