//! The three tasks of `garland cp`: a copy to nodes, a copy from nodes, and joining a copy.

use garland_copy::gathering::FromNodes;
use garland_terminal::failure::Failure;

use super::Cp;
use super::on_nodes;

/// The task of a command line.
pub enum Task {
    /// Add nodes to the running copy of this run.
    Join(String),
    /// Copy files, streams or remote objects to nodes.
    Out,
    /// Copy these sources on nodes to this machine.
    In(Vec<FromNodes>),
}

impl Task {
    /// Returns the task that a command line specifies.
    ///
    /// # Errors
    /// If a source looks like a URL and cannot be parsed, or if sources on nodes cannot be copied
    /// in this way.
    pub fn new(args: &Cp) -> Result<Self, Failure> {
        if let Some(run) = &args.join {
            return Ok(Self::Join(run.clone()));
        }
        let named = on_nodes::sources(args)?;
        Ok(if named.is_empty() { Self::Out } else { Self::In(named) })
    }
}
