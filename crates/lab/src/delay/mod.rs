//! Media with a delay: every frame that leaves such a medium through a port arrives later, behind
//! the queue that limits the port's rate.
//!
//! The cable of the port is cut for this: what arrives at the inner end leaves the outer end again.
//! Where the medium has no delay, which is the direction from a NIC into its medium, the kernel
//! passes frames on at once (mirred). Where it has one, either the kernel holds them (netem), or a
//! process of the keeper does: the lab's own delay line ([`line`]).

mod counters;
mod limit;
pub(crate) mod line;
mod queue;
mod record;

use garland_core::units::Nanos;
use garland_topology::{MediumId, NicId, Topology};

pub use counters::DelayCounters;
pub(crate) use counters::by_medium;
pub(crate) use limit::{check_own, fault};
pub use record::{DelayBy, DelayRecord};

use crate::device;
use crate::medium::{Port, Station, ports};
use crate::step::Step;
use crate::writer::MEDIA;

/// One direction of a cable that is cut for a delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Direction {
    /// The device at which frames arrive, in the namespace of the media.
    from: String,
    /// The device that sends them on.
    to: String,
    /// The medium that the frames leave, the rate of its port in bits per second, and the time for
    /// which they are held; `None` if they are passed on at once.
    held: Option<Held>,
}

/// How frames of one direction are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) medium: MediumId,
    /// In bits per second; `None` if it is not limited, which a valid lab has not.
    rate: Option<u64>,
    delay: Nanos,
}

/// Whether any medium of a topology has a delay.
pub(crate) fn is_wanted(topology: &Topology) -> bool {
    topology.media.iter().any(|medium| medium.delay > Nanos::ZERO)
}

/// Whether the cable of a NIC is cut.
pub(crate) fn cuts_nic(topology: &Topology, nic: NicId) -> bool {
    delay_of(topology, topology.nics[nic].medium) > Nanos::ZERO
}

/// Whether the uplink with the index `place` is cut.
pub(crate) fn cuts_uplink(topology: &Topology, place: usize) -> bool {
    let uplink = &topology.uplinks[place];
    [uplink.from, uplink.to].iter().any(|medium| delay_of(topology, *medium) > Nanos::ZERO)
}

fn delay_of(topology: &Topology, medium: MediumId) -> Nanos {
    topology.media[medium].delay
}

/// Returns both directions of all cables that are cut: those of NICs, then uplinks.
pub(crate) fn directions(topology: &Topology) -> Vec<Direction> {
    let nics = (0..topology.nics.len()).filter(|nic| cuts_nic(topology, *nic)).flat_map(|nic| {
        let [inner, outer] = device::cut_cable(nic);
        let medium = topology.nics[nic].medium;
        let held = leaving(topology, medium, Station::Nic(nic));
        let there = Direction { from: inner.clone(), to: outer.clone(), held };
        [there, Direction { from: outer, to: inner, held: None }]
    });
    let uplinks = 0..topology.uplinks.len();
    let uplinks = uplinks.filter(|place| cuts_uplink(topology, *place)).flat_map(|place| {
        let [near, far] = device::cut_uplink(place);
        let uplink = &topology.uplinks[place];
        let held = |medium| leaving(topology, medium, Station::Uplink(place));
        let there = Direction { from: near.clone(), to: far.clone(), held: held(uplink.from) };
        [there, Direction { from: far, to: near, held: held(uplink.to) }]
    });
    nics.chain(uplinks).collect()
}

/// Returns how frames are held that leave a medium through its port to `station`.
fn leaving(topology: &Topology, medium: MediumId, station: Station) -> Option<Held> {
    let delay = delay_of(topology, medium);
    let all = ports(topology, medium);
    let rate = all.iter().find(|port: &&Port| port.station == station).and_then(|port| port.rate);
    (delay > Nanos::ZERO).then_some(Held { medium, rate, delay })
}

/// Returns the steps that connect the ends of all cut cables, except what the lab's own delay line
/// does.
pub(crate) fn steps(topology: &Topology, by: DelayBy) -> Vec<Step> {
    directions(topology).iter().flat_map(|direction| connect(direction, by)).collect()
}

fn connect(direction: &Direction, by: DelayBy) -> Vec<Step> {
    let Direction { from, to, held } = direction;
    let mut steps = Vec::new();
    match (held, by) {
        (Some(_), DelayBy::Own) => return steps,
        (Some(held), DelayBy::Netem) => {
            let delay = held.delay.0;
            let limit = held.frames();
            steps.push(
                MEDIA.tc(format!("qdisc add dev {to} root netem delay {delay}ns limit {limit}")),
            );
        }
        (None, _) => {}
    }
    steps.push(MEDIA.tc(format!("qdisc add dev {from} handle ffff: ingress")));
    steps.push(MEDIA.tc(format!(
        "filter add dev {from} parent ffff: protocol all prio 1 u32 match u32 0 0 action mirred \
         egress redirect dev {to}"
    )));
    steps
}

/// The shortest time that a frame takes on a wire, in bytes.
const SHORTEST_FRAME: u64 = 84;

/// What a queue holds in addition to what its rate fills in its delay: the time in which it is not
/// emptied, and a burst of the port.
const SLACK_NS: u64 = 50_000_000;
const SLACK_BYTES: u64 = 1 << 20;

impl Held {
    /// Returns the maximum number of bytes that are held at once.
    fn room(&self) -> u64 {
        let rate = u128::from(self.rate.unwrap_or(0) / 8);
        let filled = rate * u128::from(self.delay.0 + SLACK_NS) / 1_000_000_000;
        u64::try_from(filled).unwrap_or(u64::MAX).saturating_add(SLACK_BYTES)
    }

    /// Returns the maximum number of frames that are held at once.
    fn frames(&self) -> u64 {
        self.room() / SHORTEST_FRAME
    }

    /// Returns the time after which a release counts as late, in nanoseconds: 5 % of the delay, at
    /// least a millisecond.
    fn lateness_ns(&self) -> u64 {
        (self.delay.0 / 20).max(1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use garland_topology::shapes::{Basis, LeafSpine, leaf_spine, switch};

    use super::*;

    fn delayed(mut topology: Topology, millis: u64) -> Topology {
        topology.media.iter_mut().for_each(|medium| medium.delay = Nanos::from_millis(millis));
        topology
    }

    fn basis(nodes: u32) -> Basis {
        Basis::numbered("shape", nodes).at("100mbit".parse().unwrap())
    }

    #[test]
    fn a_frame_is_held_once_for_each_medium_that_it_leaves() {
        let plain = switch(&basis(2), None);
        assert_eq!(directions(&plain), []);
        let found = directions(&delayed(plain, 20));
        assert_eq!(found.len(), 6, "both directions of three NICs");
        assert_eq!(found.iter().filter(|direction| direction.held.is_some()).count(), 3);
        // An uplink holds frames in both directions, since they leave a switch in both.
        let measures = LeafSpine { leaves: 2, spines: 1, uplink: None };
        let mut leaves = delayed(leaf_spine(&basis(3), &measures), 1);
        let held = |topology: &Topology| {
            directions(topology).iter().filter(|direction| direction.held.is_some()).count()
        };
        assert_eq!(held(&leaves), 4 + 2 * 2);
        leaves.media[0].delay = Nanos::ZERO;
        assert!(held(&leaves) < 8);
    }

    #[test]
    fn a_queue_has_room_for_what_its_rate_fills() {
        let held = |rate, millis| Held { medium: 0, rate, delay: Nanos::from_millis(millis) };
        assert_eq!(held(Some(100_000_000), 20).room(), 875_000 + (1 << 20));
        assert_eq!(held(Some(8_000), 1000).room(), 1050 + (1 << 20));
        assert_eq!(held(None, 20).room(), 1 << 20);
        assert_eq!(held(Some(1), 10).lateness_ns(), 1_000_000);
        assert_eq!(held(Some(1), 100).lateness_ns(), 5_000_000);
    }

    #[test]
    fn netem_is_behind_the_bucket_of_the_port() {
        let topology = delayed(switch(&basis(1), None), 20);
        let of = |by| {
            let lines: Vec<_> = steps(&topology, by).iter().map(Step::to_string).collect();
            lines.join("\n")
        };
        let netem = of(DelayBy::Netem);
        // Frames to n1 are held; frames from it are passed on at once.
        let held = "tc -n _media qdisc add dev d1out root netem delay 20000000ns limit 22899\n\
                    tc -n _media qdisc add dev d1in handle ffff: ingress\n\
                    tc -n _media filter add dev d1in parent ffff: protocol all prio 1 u32 match \
                    u32 0 0 action mirred egress redirect dev d1out";
        assert!(netem.contains(held), "{netem}");
        assert!(netem.contains("mirred egress redirect dev d1in"), "{netem}");
        assert!(!netem.contains("qdisc add dev d1in root"), "{netem}");
        assert!(!of(DelayBy::Own).contains("netem"));
    }
}
