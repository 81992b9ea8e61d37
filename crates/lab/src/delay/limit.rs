//! What the lab's own delay line can hold.

use garland_core::units::Nanos;
use garland_topology::{MediumId, Topology};

use super::directions;
use crate::LabError;
use crate::shaping::{Shaping, WIRE};

/// Returns why the delays of a topology cannot be emulated by anything; `None` if they can.
pub(crate) fn fault(topology: &Topology) -> Option<String> {
    let unlimited = directions(topology).into_iter().find_map(|direction| {
        direction.held.filter(|held| held.rate.is_none()).map(|held| held.medium)
    })?;
    let medium = &topology.media[unlimited];
    let delay: Nanos = medium.delay;
    Some(format!(
        "medium {}: a delay of {delay} needs a rate, which limits what is on its way; set its rate",
        medium.name
    ))
}

/// The time that the delay line works for a frame, and for a byte of it, in nanoseconds, with what
/// the kernel does at the receiving node. Measured on two processors of 2026: three streams of 940
/// Mbit/s in segments kept it busy for a quarter of the time and none was late, four of 94 Mbit/s
/// for 15 %. The time of a frame is for the worst case, one after the other.
const FRAME_NS: f64 = 6_000.0;
const BYTE_NS: f64 = 0.7;

/// The length of the segments in which frames pass on media that do not count them one by one.
const SEGMENT: f64 = 65_536.0;

/// The share of one processor that the delay line may take, 0 to 1.
const MAX_BUSY: f64 = 0.5;

/// Checks that the lab's own delay line can hold the frames of a topology.
///
/// # Errors
/// [`LabError::Unavailable`] if it would be too busy.
pub(crate) fn check_own(topology: &Topology) -> Result<(), LabError> {
    let shaping = Shaping::new(topology);
    let busy: f64 = (0..topology.media.len()).map(|medium| work(topology, &shaping, medium)).sum();
    if busy <= MAX_BUSY {
        return Ok(());
    }
    let problem = format!(
        "cannot delay the frames of this lab: this kernel does not support netem \
         (CONFIG_NET_SCH_NETEM), and the lab's own delay line would keep a processor busy for \
         {:.0} % of the time, and may for {:.0} %, if all nodes but one receive at full rate",
        busy * 100.0,
        MAX_BUSY * 100.0
    );
    let hint = "use lower rates or fewer nodes, or a kernel with netem".to_owned();
    Err(LabError::Unavailable { problem, hint })
}

/// Returns the share of a processor that the delay line takes for a medium of whose ports all but
/// one send at full rate, 0 and up.
fn work(topology: &Topology, shaping: &Shaping, medium: MediumId) -> f64 {
    let all = directions(topology).into_iter().filter_map(|direction| direction.held);
    let rates = all.filter(|held| held.medium == medium).filter_map(|held| held.rate);
    let bytes = rates.skip(1).sum::<u64>() as f64 / 8.0;
    let frame = if shaping.exact(medium) { WIRE as f64 } else { SEGMENT };
    bytes * (FRAME_NS / frame + BYTE_NS) / 1e9
}

#[cfg(test)]
mod tests {
    use garland_core::units::Nanos;

    use super::*;
    use crate::Spec;

    #[test]
    fn what_was_measured_is_held_and_much_more_is_refused() {
        let is_held = |nodes, rate| {
            let spec = Spec::switch("lab", nodes, Some(rate)).delayed(Nanos::from_millis(20));
            check_own(&spec.topology).is_ok()
        };
        assert!(is_held(4, 100_000_000) && is_held(3, 1_000_000_000));
        assert!(
            !is_held(12, 100_000_000) && !is_held(8, 1_000_000_000) && !is_held(1, 10_000_000_000)
        );
    }
}
