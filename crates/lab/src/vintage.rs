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

/// Sets the processor share of each node that copies at the rate of another time. Measures this machine only
/// if there is such a node.
pub(crate) fn resolve(topology: &mut Topology) -> Result<(), LabError> {
    if topology.nodes.iter().all(|node| node.vintage.copies.is_none()) {
        return Ok(());
    }
    let able = copying::bytes_per_second().map_err(|error| LabError::Unavailable {
        problem: format!("measuring how fast this machine copies (`copies`) failed: {error}"),
        hint: "omit `copies`, or set the share `cpu` instead".to_owned(),
    })?;
    for node in &mut topology.nodes {
        if let Some(wanted) = node.vintage.copies {
            node.cpu = Some(share(wanted, able)?);
        }
    }
    Ok(())
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
