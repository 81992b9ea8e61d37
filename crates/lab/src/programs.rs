//! Conditions of the time for the programs of a node: whoever starts them asks the lab for pipes,
//! blocks and starts.

use std::path::Path;
use std::time::Duration;

use garland_sys::fifo::Fifo;
use garland_topology::Vintage;

use crate::{Lab, LabError};

impl Lab {
    /// Returns the conditions of the time of a node, which programs that run there take from here.
    pub fn vintage(&self, node: &str) -> Result<Vintage, LabError> {
        Ok(self.spec().topology.nodes[self.id(node)?].vintage)
    }

    /// Creates a named pipe for programs of a node, with the capacity that its pipes have. The
    /// capacity stays while the returned value lives.
    pub fn pipe(&self, node: &str, path: &Path) -> Result<Fifo, LabError> {
        let capacity = self.vintage(node)?.pipe;
        Fifo::create(path, capacity).map_err(LabError::file("create pipe", path))
    }

    /// Lets the nodes with `copies` copy as slowly as they did (`slowly`), or as this machine does.
    /// Starting a program costs other work than copies, which `copies` says nothing of.
    pub fn pace(&self, slowly: bool) -> Result<(), LabError> {
        for node in self.spec().topology.nodes.iter().filter(|node| node.vintage.copies.is_some()) {
            let (Some(group), Some(share)) = (self.group(&node.name), node.cpu) else { continue };
            let done = if slowly { group.limit(share) } else { group.lift() };
            done.map_err(LabError::file("change control group", group.path()))?;
        }
        Ok(())
    }

    /// Waits as long as another node waits until a program that it starts on `node` runs.
    pub fn await_start(&self, node: &str) -> Result<(), LabError> {
        if let Some(start) = self.vintage(node)?.start {
            garland_sys::threads::sleep(Duration::from_nanos(start.0));
        }
        Ok(())
    }
}
