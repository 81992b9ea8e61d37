//! The token bucket that limits a virtual wire to the rate of a real one.
//!
//! A full Ethernet frame carries 1448 bytes of TCP payload (with time stamps) in 1514 bytes that
//! the kernel counts, and occupies the wire for 1538 bytes: 24 more for checksum, preamble and gap.
//! So a real link gives TCP 1448/1538 = 94.15 % of its rate, and so must the emulated one.
//!
//! Slow links count exactly, frame by frame: a small burst makes tbf split the large segments of
//! TCP, and tbf adds the 24 bytes. On fast links, and on many slow ones together, splitting would
//! cost more CPU time than everything else, so large segments pass whole. The kernel counts the
//! headers of every frame in them but would add the 24 bytes only once, so the rate is scaled by
//! 1514/1538 instead.

use std::fmt;

use garland_core::units::Rate;
use garland_topology::{Medium, MediumId, MediumKind, Topology};

/// The maximum rate of a link whose frames are counted one by one, in bits per second.
const EXACT_UP_TO: u64 = 200_000_000;

/// The maximum total rate of all links, in bits per second, up to which frames are counted one by
/// one. Above this limit two CPUs are too slow: a copy through a chain of 20 nodes at 100 Mbit/s
/// took 10.5 s, and 7.6 s on real wires.
const EXACT_IN_ALL: u64 = 1_200_000_000;

/// How the media of one topology are shaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shaping {
    media: Vec<MediumShaping>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MediumShaping {
    rate: Option<u64>,
    exact: bool,
    beside_hub: bool,
}

impl Shaping {
    /// Computes the shaping of all media together, since all share the CPUs of the machine.
    pub fn new(topology: &Topology) -> Shaping {
        let in_all = load(topology);
        let hubs = beside_hubs(topology);
        let media = topology.media.iter().zip(hubs).map(|(medium, beside_hub)| {
            let rate = medium.rate.map(Rate::bits_per_second);
            let exact = beside_hub || rate.is_some_and(|rate| is_exact(rate, in_all));
            MediumShaping { rate, exact, beside_hub }
        });
        Shaping { media: media.collect() }
    }

    /// Whether the frames of a medium are counted one by one.
    pub fn exact(&self, medium: MediumId) -> bool {
        self.media[medium].exact
    }

    /// Whether nodes must send single frames instead of large segments. This holds for hubs and for
    /// media that are joined to them, since htb, which emulates a hub, adds the 24 bytes of a frame
    /// only once to a large segment.
    pub(crate) fn one_frame_at_a_time(&self, medium: MediumId) -> bool {
        self.media[medium].beside_hub
    }

    /// Returns the rate of a medium in bits per second; `None` for no limit.
    pub(crate) fn rate(&self, medium: MediumId) -> Option<u64> {
        self.media[medium].rate
    }
}

/// Returns the load on all links together, in bits per second, when every node but one sends or
/// receives at full rate.
pub(crate) fn load(topology: &Topology) -> u64 {
    let of = |(id, medium): (MediumId, &Medium)| {
        let links = match medium.kind {
            MediumKind::Hub { .. } => 1,
            MediumKind::Switch { .. } | MediumKind::Wire => {
                topology.stations(id).count().saturating_sub(1)
            }
        };
        medium.rate.map_or(0, |rate| rate.bits_per_second().saturating_mul(links as u64))
    };
    topology.media.iter().enumerate().map(of).fold(0, u64::saturating_add)
}

/// For each medium, returns whether it is a hub or is joined to one by uplinks.
fn beside_hubs(topology: &Topology) -> Vec<bool> {
    let mut beside: Vec<bool> = topology.media.iter().map(|medium| medium.kind.is_hub()).collect();
    // Every round reaches the media that are one uplink farther from a hub.
    for _ in &topology.media {
        for uplink in &topology.uplinks {
            let either = beside[uplink.from] || beside[uplink.to];
            beside[uplink.from] = either;
            beside[uplink.to] = either;
        }
    }
    beside
}

fn is_exact(rate: u64, in_all: u64) -> bool {
    rate <= EXACT_UP_TO && in_all <= EXACT_IN_ALL
}

/// The minimum rate of a link: below it, a frame takes longer than a second.
const MIN_LINK_RATE: u64 = 16_000;

/// The maximum rate of a shaped link: one CPU of 2026 moves little more through veth devices.
const FASTEST: u64 = 25_000_000_000;

const PAYLOAD: u64 = 1448;
/// Bytes of a full frame that the kernel counts.
pub(crate) const FRAME: u64 = 1514;
/// Bytes of wire time that a full frame takes.
pub(crate) const WIRE: u64 = 1538;
/// Bytes of wire time that acknowledgements take per full frame: every second frame is acknowledged
/// by a frame of 66 bytes (90 on the wire).
const ACKNOWLEDGEMENT: u64 = 45;
/// The mean length of a flow's frames on the wire, in bytes: two full frames and one
/// acknowledgement.
pub(crate) const MEAN_FRAME: f64 = (2 * (WIRE + ACKNOWLEDGEMENT)) as f64 / 3.0;

/// The parameters of tc-tbf(8); [`fmt::Display`] writes them as arguments of `tc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tbf {
    /// The rate in bits per second.
    rate: u64,
    /// Bytes that may pass at once.
    burst: u64,
    /// Bytes that may be queued: the buffer of the port.
    limit: u64,
    /// The bytes that are added to the length of every frame.
    overhead: u64,
}

impl fmt::Display for Tbf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tbf { rate, burst, limit, overhead } = self;
        write!(out, "tbf rate {rate}bit burst {burst} limit {limit} mpu 84")?;
        match overhead {
            0 => Ok(()),
            bytes => write!(out, " overhead {bytes}"),
        }
    }
}

impl Tbf {
    /// Sets the size of the buffer to `bytes`, or to the burst if the burst is larger. Keeps the
    /// size if `bytes` is `None`.
    pub(crate) fn holding(self, bytes: Option<u64>) -> Tbf {
        Tbf { limit: bytes.unwrap_or(self.limit).max(self.burst), ..self }
    }
}

/// Returns the token bucket for a wire of `rate` bits per second; `exact` says whether frames are
/// counted one by one.
pub fn qdisc(rate: u64, exact: bool) -> Tbf {
    let millisecond = rate / 8 / 1000;
    if exact {
        Tbf { rate, burst: millisecond.max(2 * WIRE), limit: 262_144, overhead: WIRE - FRAME }
    } else {
        let scaled = u128::from(rate) * u128::from(FRAME) / u128::from(WIRE);
        Tbf {
            rate: u64::try_from(scaled).expect("the scaled rate is less than `rate`"),
            burst: millisecond.max(131_072),
            limit: (4 * millisecond).max(524_288),
            overhead: 0,
        }
    }
}

/// Returns the maximum number of bytes that a TCP socket may have in the queues of its own node
/// (`tcp_limit_output_bytes`): what takes 2 ms to send at `rate` bits per second, 16 KiB to 4 MiB.
/// With the kernel's default of 4 MiB the queue of the token bucket would overflow, which does not
/// happen on real NICs, and acknowledgements would wait behind data.
pub fn socket_share(rate: u64) -> u64 {
    (rate / 8 / 500).clamp(16_384, 4_194_304)
}

/// Returns the TCP goodput of a single flow over a wire of `rate` bits per second, in bits per
/// second.
pub fn goodput(rate: u64) -> f64 {
    rate as f64 * PAYLOAD as f64 / WIRE as f64
}

/// Returns the TCP goodput of each of two opposite flows over a wire of `rate` bits per second, in
/// bits per second. On wires that count frames (`exact`), every second frame is acknowledged; on
/// fast wires a segment of up to 64 KiB is acknowledged at once, which costs next to nothing.
pub fn goodput_both_ways(rate: u64, exact: bool) -> f64 {
    let acknowledgement = if exact { ACKNOWLEDGEMENT } else { 0 };
    rate as f64 * PAYLOAD as f64 / (WIRE + acknowledgement) as f64
}

/// Returns the TCP goodput of all flows together over a hub of `rate` bits per second, in bits per
/// second. Acknowledgements use the same wire.
pub fn goodput_of_hub(rate: u64) -> f64 {
    rate as f64 * PAYLOAD as f64 / (WIRE + ACKNOWLEDGEMENT) as f64
}

/// Returns why a rate in bits per second cannot be emulated; `None` if it can.
pub(crate) fn fault(rate: u64) -> Option<String> {
    if rate < MIN_LINK_RATE {
        Some(format!("the rate of {rate} bit/s is too low; the minimum is {MIN_LINK_RATE} bit/s"))
    } else if rate > FASTEST {
        Some(format!(
            "the rate of {:.0} Gbit/s cannot be emulated; the maximum is {:.0} Gbit/s; without a \
             rate the wires are as fast as this machine",
            rate as f64 / 1e9,
            FASTEST as f64 / 1e9
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_wires_count_frames_and_fast_ones_are_scaled() {
        assert_eq!(
            qdisc(100_000_000, is_exact(100_000_000, 1_200_000_000)).to_string(),
            "tbf rate 100000000bit burst 12500 limit 262144 mpu 84 overhead 24"
        );
        assert_eq!(
            qdisc(1_000_000_000, is_exact(1_000_000_000, 1_000_000_000)).to_string(),
            "tbf rate 984395318bit burst 131072 limit 524288 mpu 84"
        );
        assert_eq!(qdisc(10_000_000, true).burst, 3076);
        let many = crate::Spec::switch("lab", 20, Some(100_000_000)).topology;
        assert!(!Shaping::new(&many).exact(0), "many slow wires cost as much as one fast one");
    }

    #[test]
    fn goodput_is_the_known_share() {
        assert!((goodput(100_000_000) / 1e6 - 94.148).abs() < 0.001);
        assert!((goodput_of_hub(10_000_000) / 1e6 - 9.147).abs() < 0.001);
    }
}
