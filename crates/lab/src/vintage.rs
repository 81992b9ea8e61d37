//! Conditions of the time (`copies`, `pipe`, `block`, `start`) put into effect.
//!
//! `copies` becomes a limit of processor time: the share of a processor of this machine that copies as fast.
//! Pipes, blocks and starts are effects on the programs of a node: who starts them asks the lab.

use std::path::Path;
use std::time::Duration;

use garland_core::units::Rate;
use garland_sys::copying;
use garland_sys::fifo::Fifo;
use garland_topology::{Topology, Vintage};

use crate::{Lab, LabError};

/// The bytes that programs read at once on a node without `block`: those of netcat.
const BLOCK: u64 = 16384;

/// Sets the processor share of each node that copies at the rate of another time. Measures this machine for
/// each kind of pipes and blocks of such nodes, since small ones cost more of a processor.
pub(crate) fn resolve(topology: &mut Topology) -> Result<(), LabError> {
    let mut known: Vec<((Option<u64>, u64), f64)> = Vec::new();
    for node in &mut topology.nodes {
        let Vintage { copies: Some(wanted), pipe, block, .. } = node.vintage else { continue };
        let kind = (pipe, block.unwrap_or(BLOCK));
        let able = match known.iter().find(|(other, _)| *other == kind) {
            Some((_, able)) => *able,
            None => {
                let able = measured(kind)?;
                known.push((kind, able));
                able
            }
        };
        node.cpu = Some(share(wanted, able)?);
    }
    Ok(())
}

fn measured((pipe, block): (Option<u64>, u64)) -> Result<f64, LabError> {
    copying::bytes_per_second(pipe, block as usize).map_err(|error| LabError::Unavailable {
        problem: format!("measuring how fast this machine copies (`copies`) failed: {error}"),
        hint: "omit `copies`, or set the share `cpu` instead".to_owned(),
    })
}

/// Returns the share of a processor, in thousandths, that copies at the rate `wanted` on a machine that is
/// `able` to copy so many bytes in a second of processor time.
fn share(wanted: Rate, able: f64) -> Result<u32, LabError> {
    let share = wanted.bytes_per_second() / able;
    if share > 1.0 {
        let able = Rate::from_bytes_per_second(able as u64);
        return Err(LabError::Unavailable {
            problem: format!("a processor of this machine copies {able}, not {wanted} (`copies`)"),
            hint: "set a lower rate, or omit `copies`".to_owned(),
        });
    }
    Ok(((share * 1000.0).round() as u32).max(1))
}

impl Lab {
    /// Returns the conditions of the time of a node, which programs that run there take from here.
    pub fn vintage(&self, node: &str) -> Result<Vintage, LabError> {
        Ok(self.spec().topology.nodes[self.id(node)?].vintage)
    }

    /// Creates a named pipe for programs of a node, with the capacity that its pipes have. The capacity stays
    /// while the returned value lives.
    pub fn pipe(&self, node: &str, path: &Path) -> Result<Fifo, LabError> {
        let capacity = self.vintage(node)?.pipe;
        Fifo::create(path, capacity).map_err(LabError::file("create pipe", path))
    }

    /// Lets the nodes with `copies` copy as slowly as they did (`slowly`), or as this machine does. Starting a
    /// program costs other work than copies, which `copies` says nothing of.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_copies_at_the_rate_of_the_time() {
        let rate = Rate::from_bytes_per_second;
        assert_eq!(share(rate(152_000_000), 3.04e9).unwrap(), 50);
        assert_eq!(share(rate(1), 3.04e9).unwrap(), 1);
        let refused = share(rate(4_000_000_000), 3.04e9).unwrap_err().to_string();
        assert!(refused.contains("copies 3040.0 MB/s"), "{refused}");
        assert!(refused.contains("not 4000.0 MB/s") && refused.contains("(`copies`)"), "{refused}");
    }
}
