//! What copies cost at another time (`copies`), as the share of a processor of this machine that
//! copies as fast.

use garland_core::units::Rate;
use garland_sys::copying;
use garland_topology::{Topology, Vintage};

use crate::LabError;

/// The bytes that programs read at once on a node without `block`: those of netcat.
const BLOCK: u64 = 16384;

/// Sets the processor share of each node that copies at the rate of another time. Measures this
/// machine for each kind of pipes and blocks of such nodes, since small ones cost more of a
/// processor.
pub(crate) fn resolve(topology: &mut Topology) -> Result<(), LabError> {
    let mut known: Vec<((Option<u64>, u64), f64)> = Vec::new();
    for node in &mut topology.nodes {
        let Vintage { copies: Some(wanted), pipe, block, .. } = node.vintage else { continue };
        let block = block.unwrap_or(BLOCK);
        let kind = (pipe, block);
        let able = match known.iter().find(|(other, _)| *other == kind) {
            Some((_, able)) => *able,
            None => {
                let able = measured(pipe, block)?;
                known.push((kind, able));
                able
            }
        };
        node.cpu = Some(share(wanted, able)?);
    }
    Ok(())
}

/// Measures how many bytes this machine copies in a second of processor time, through pipes that
/// hold `pipe` bytes and in blocks of `block` bytes.
fn measured(pipe: Option<u64>, block: u64) -> Result<f64, LabError> {
    copying::bytes_per_second(pipe, block as usize).map_err(|error| LabError::Unavailable {
        problem: format!("measuring how fast this machine copies (`copies`) failed: {error}"),
        hint: "omit `copies`, or set the share `cpu` instead".to_owned(),
    })
}

/// Returns the share of a processor, in thousandths, that copies at the rate `wanted` on a machine
/// that is `able` to copy so many bytes in a second of processor time.
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
