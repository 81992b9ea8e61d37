//! The cost of collisions on a hub.
//!
//! On an Ethernet with Q stations that always have a frame to send, a station acquires a slot with
//! the probability A = (1-1/Q)^(Q-1), so W = (1-A)/A slots of 512 bits are lost for each frame
//! (Metcalfe and Boggs, 1976). A child process of the keeper reads ten times a second which
//! stations have frames in their queues and how long these are, and reduces the rate of the wire
//! accordingly.
//!
//! A station counts if at least one full frame is in its queue. The receiver of a single flow sends
//! its acknowledgements between the data, one short frame at a time, and is not counted. So a
//! single flow loses nothing, while two stations with queues that are never empty do.

use std::io::{self, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use garland_sys::threads;
use garland_topology::{MediumId, MediumKind, Topology};
use serde_json::StreamDeserializer;
use serde_json::de::IoRead;

use super::hub;
use crate::counters::Queue;
use crate::device;
use crate::shaping::{FRAME, WIRE};
use crate::step::Step;
use crate::tool::Tool;

/// The interval at which the queues are read.
const READ_INTERVAL: Duration = Duration::from_millis(100);

/// The pause before `tc` is started again after it ended.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// The length of a slot in bytes: 512 bits.
const SLOT: f64 = 64.0;

/// Returns the share of a hub's rate that collisions leave, 0 to 1. `stations` is the number of
/// stations that always have a frame to send, `frame` the length of these frames in bytes on the
/// wire.
pub fn share(stations: usize, frame: f64) -> f64 {
    if stations < 2 {
        return 1.0;
    }
    let others = stations as f64 - 1.0;
    let won = (1.0 - 1.0 / stations as f64).powf(others);
    frame / (frame + SLOT * (1.0 - won) / won)
}

/// Whether any hub of a topology has collisions.
pub(crate) fn are_wanted(topology: &Topology) -> bool {
    hubs(topology).next().is_some()
}

/// Adjusts the rates of all hubs with collisions forever. The caller must be in the namespace of
/// the media.
pub(crate) fn keep(topology: &Topology) -> ! {
    let mut all: Vec<Hub> = hubs(topology).collect();
    loop {
        // `watch` returns when tc ends; the next tc continues.
        let _ = watch(&mut all);
        threads::sleep(RESTART_PAUSE);
    }
}

fn watch(hubs: &mut [Hub]) -> io::Result<()> {
    let mut tc = Conversation::start()?;
    loop {
        threads::sleep(READ_INTERVAL);
        for hub in &mut *hubs {
            let queues = tc.ask(&format!("qdisc show dev {}", device::shared(hub.id)))?;
            if let Some(rate) = hub.judge(&queues)
                && let Step::Batch { text, .. } = hub::whole(hub.id, "change", rate)
            {
                tc.tell(&text)?;
                hub.now = rate;
            }
        }
    }
}

fn hubs(topology: &Topology) -> impl Iterator<Item = Hub> {
    topology.media.iter().enumerate().filter_map(|(id, medium)| match (medium.kind, medium.rate) {
        (MediumKind::Hub { collisions: true }, Some(rate)) => {
            let rate = rate.bits_per_second();
            Some(Hub { id, rate, now: rate, bytes: 0, packets: 0 })
        }
        _ => None,
    })
}

/// A hub, with its current rate and the counters of the last reading.
struct Hub {
    id: MediumId,
    rate: u64,
    now: u64,
    bytes: u64,
    packets: u64,
}

impl Hub {
    /// Returns the new rate for the current state of its queues; `None` if the rate need not
    /// change.
    fn judge(&mut self, queues: &[Queue]) -> Option<u64> {
        let leaves = || queues.iter().filter(|queue| queue.kind == "bfifo");
        let busy = leaves().filter(|leaf| leaf.counters.backlog >= FRAME).count();
        let bytes = leaves().map(|leaf| leaf.counters.bytes).sum::<u64>();
        let packets = leaves().map(|leaf| leaf.counters.packets).sum::<u64>();
        let sent = packets.saturating_sub(self.packets);
        let frame = bytes.saturating_sub(self.bytes) as f64 / sent.max(1) as f64;
        (self.bytes, self.packets) = (bytes, packets);
        let on_wire = (frame + (WIRE - FRAME) as f64).max(84.0);
        let part = if sent == 0 { 1.0 } else { share(busy, on_wire) };
        let rate = (self.rate as f64 * part) as u64;
        // Changes below a thousandth have no visible effect.
        (rate.abs_diff(self.now) * 1000 > self.rate).then_some(rate)
    }
}

/// A `tc` process that reads commands line by line, and answers in JSON.
struct Conversation {
    input: ChildStdin,
    answers: StreamDeserializer<'static, IoRead<BufReader<ChildStdout>>, Vec<Queue>>,
}

impl Conversation {
    fn start() -> io::Result<Self> {
        let path = Tool::Tc.find().map_err(io::Error::other)?;
        // The keeper, the first process of the PID namespace, reaps this child.
        let mut child = std::process::Command::new(path)
            .args(["-s", "-j", "-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().expect("standard input is a pipe");
        let output = child.stdout.take().expect("standard output is a pipe");
        let answers = serde_json::Deserializer::from_reader(BufReader::new(output)).into_iter();
        Ok(Self { input, answers })
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.input, "{line}")?;
        self.input.flush()
    }

    fn ask(&mut self, line: &str) -> io::Result<Vec<Queue>> {
        self.tell(line)?;
        let answer = self.answers.next().ok_or(io::ErrorKind::UnexpectedEof)?;
        answer.map_err(io::Error::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::QueueCounters;

    #[test]
    fn shares_are_those_of_1976() {
        // Computed by the paper's formulas for frames of 1538 and 84 bytes on the wire.
        for (stations, long, short) in
            [(2, 0.960, 0.568), (4, 0.946, 0.489), (8, 0.940, 0.459), (16, 0.936, 0.446)]
        {
            assert!((share(stations, 1538.0) - long).abs() < 0.001, "{stations}");
            assert!((share(stations, 84.0) - short).abs() < 0.001, "{stations}");
        }
        assert_eq!(share(1, 84.0), 1.0);
        assert_eq!(share(0, 84.0), 1.0);
    }

    #[test]
    fn only_stations_with_a_frame_waiting_count() {
        let mut hub = Hub { id: 0, rate: 10_000_000, now: 10_000_000, bytes: 0, packets: 0 };
        let leaf = |bytes, packets, backlog| Queue {
            kind: "bfifo".to_owned(),
            counters: QueueCounters { bytes, packets, drops: 0, backlog },
            ..Queue::default()
        };
        let lone = [leaf(1_514_000, 1000, 30_000), leaf(33_000, 500, 66)];
        assert_eq!(hub.judge(&lone), None, "data and its acknowledgements do not collide");
        let two = [leaf(3_028_000, 2000, 30_000), leaf(1_547_000, 1500, 1514)];
        let rate = hub.judge(&two).unwrap();
        assert_eq!(rate, 9_600_499, "1538 of 1602 bytes");
        hub.now = rate;
        assert_eq!(hub.judge(&two), Some(10_000_000), "nothing was sent");
    }
}
