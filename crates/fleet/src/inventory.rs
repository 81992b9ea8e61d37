//! From what the user wrote to nodes: node lists, groups, the cluster file, the allocation.

use std::path::{Path, PathBuf};

use garland_core::cluster::nodelist::{self, NodeListError, Sources};
use garland_core::cluster::{Cluster, Node};

use crate::context::Context;
use crate::here;
use garland_terminal::failure::{Failure, OrFailure};

/// The cluster file, if there is one, and what node lists refer to.
#[derive(Debug)]
pub struct Inventory {
    cluster: Option<Cluster>,
}

impl Inventory {
    /// Reads the cluster file that the user names, or the first of the usual ones that is there. The
    /// one of the working directory must be the user's own.
    pub fn open(context: &Context) -> Result<Self, Failure> {
        let usual = || {
            let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
            let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
            let config = config.or_else(home).map(|dir| dir.join("garland/cluster.toml"));
            config.filter(|path| path.exists())
        };
        let here = Path::new("cluster.toml");
        let cluster = match &context.cluster {
            Some(named) => Some(read_cluster(named)?),
            None if here.exists() => Some(here::read(here)?),
            None => usual().map(|path| read_cluster(&path)).transpose()?,
        };
        Ok(Self { cluster })
    }

    /// The cluster file's cluster.
    pub fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// The nodes that `list` names, in its order.
    pub fn nodes(&self, list: &str) -> Result<Vec<Node>, Failure> {
        let names = nodelist::expand(list, self).map_err(|error| explain(&error))?;
        names.iter().map(|name| self.node(name)).collect()
    }

    fn node(&self, name: &str) -> Result<Node, Failure> {
        let elsewhere = is_local(name) || name.starts_with(LAB_PREFIX);
        match &self.cluster {
            Some(cluster) if !elsewhere => cluster.node(name).cloned().ok_or_else(|| {
                Failure::usage(format!("{name} is not in the cluster file"))
                    .hint("add it there, or name another file by --cluster")
            }),
            _ => Ok(Node::named(name)),
        }
    }
}

/// What lab nodes' names begin with.
pub const LAB_PREFIX: &str = "lab:";

/// Whether a name is one of `local[..]`.
pub fn is_local(name: &str) -> bool {
    name.strip_prefix("local")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Sources for Inventory {
    fn file(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    }

    fn group(&self, name: &str) -> Result<Option<String>, String> {
        match &self.cluster {
            Some(cluster) => Ok(cluster.group_list(name)),
            None => Err("groups stand in the cluster file, and there is none".to_owned()),
        }
    }

    fn slurm(&self) -> Result<Option<String>, String> {
        Ok(std::env::var("SLURM_JOB_NODELIST").ok())
    }
}

fn read_cluster(path: &Path) -> Result<Cluster, Failure> {
    let text = std::fs::read_to_string(path).or_nothing(format!("reading {}", path.display()))?;
    Cluster::parse(&text, &path.display().to_string()).map_err(Failure::usage)
}

fn explain(error: &NodeListError) -> Failure {
    Failure::usage(format!("{error}\n{}", error.place.caret()))
}
