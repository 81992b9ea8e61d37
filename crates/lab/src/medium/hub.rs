//! The hub: one wire that all stations share fairly, one at a time.
//!
//! Every frame passes one IFB device before the bridge sends it to all other ports. On the IFB
//! device, htb has a queue for each station and shares the rate of the wire among them, frame by
//! frame in turn. This is the effect of carrier sense for stations that always have frames to send,
//! without collisions.

use garland_core::nic_facts::Ethernet;
use garland_topology::{MediumId, Topology};

use super::Port;
use super::port::senders;
use super::queue::funnel;
use crate::device;
use crate::shaping::WIRE;
use crate::step::Step;
use crate::writer::MEDIA;

/// The htb class that contains the classes of all stations.
pub(crate) const ALL: u32 = 1;
/// The htb class of the first station; classes are numbered in the order of the ports.
const FIRST: u32 = 0x10;
/// The htb class of frames from unknown stations.
const STRAY: u32 = 0xf;

/// The default size of a station's queue in bytes: the ring buffer of a NIC, about 40 frames.
const BUFFER: u64 = 65_536;

/// Returns the steps that create the queues of the wire. NICs have queues of their own.
pub(super) fn queues(topology: &Topology, id: MediumId, ports: &[Port]) -> Vec<Step> {
    let medium = &topology.media[id];
    let rate = medium.rate.expect("a valid hub has a rate").bits_per_second();
    let ifb = device::shared(id);
    let buffer = medium.buffer.unwrap_or(BUFFER);
    // The default class counts as a station, so that the sum of the guaranteed rates is that of the
    // wire.
    let share = rate / (ports.len() as u64 + 1);
    let mut steps = funnel(id, ports);
    steps.push(MEDIA.tc(format!("qdisc add dev {ifb} root handle 1: htb default {STRAY:x}")));
    steps.push(whole(id, "add", rate));
    let classes = (FIRST..).take(ports.len()).chain([STRAY]);
    for class in classes.clone() {
        steps.push(MEDIA.tc(format!(
            "class add dev {ifb} parent 1:{ALL:x} classid 1:{class:x} htb rate {share}bit ceil \
             {rate}bit {FRAMES}"
        )));
        steps.push(MEDIA.tc(format!(
            "qdisc add dev {ifb} parent 1:{class:x} handle {class:x}: bfifo limit {buffer}"
        )));
    }
    for (port, class) in ports.iter().zip(classes) {
        let own = senders(topology, id, port);
        steps.extend(own.into_iter().map(|sender| sort(&ifb, sender, class)));
    }
    steps
}

/// Parameters of htb that let one frame pass at a time, and add the 24 bytes on the wire that the
/// kernel does not count.
const FRAMES: &str = "burst 1538 cburst 1538 quantum 1538 overhead 24 mpu 84";
const _: () = assert!(WIRE == 1538, "FRAMES contains the length of a frame");

/// Returns the step that creates the class of all stations together, or changes its rate; `verb` is
/// `add` or `change`.
pub(crate) fn whole(id: MediumId, verb: &str, rate: u64) -> Step {
    let ifb = device::shared(id);
    MEDIA.tc(format!(
        "class {verb} dev {ifb} parent 1: classid 1:{ALL:x} htb rate {rate}bit ceil {rate}bit \
         {FRAMES}"
    ))
}

/// Returns the step that assigns frames from `sender` to `class`. The 6 bytes of the source address
/// are at offset -8 from the IP header; the u32 filter compares 4 of them and then 2.
fn sort(shared: &str, sender: Ethernet, class: u32) -> Step {
    let [a, b, c, d, e, f] = sender.0;
    MEDIA.tc(format!(
        "filter add dev {shared} parent 1: protocol all prio 1 u32 match u32 \
         0x{a:02x}{b:02x}{c:02x}{d:02x} 0xffffffff at -8 match u16 0x{e:02x}{f:02x} 0xffff at -4 \
         flowid 1:{class:x}"
    ))
}
