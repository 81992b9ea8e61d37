//! Samples the kernel's counters of a copy's threads, links and disk.

use std::sync::Arc;

use garland_core::trace::{Direction, Disk, Record, Samples, Socket, Stage, Thread};
use garland_protocol::copy::LinkSide;
use garland_sys::block_device::{self, BlockDevice};
use garland_sys::clock;
use garland_sys::schedule::Account;
use garland_sys::tcp_info::TcpInfo;

use crate::context::LaneHandle;

/// The kernel's counters that are sampled in one copy on one node, and the samples so far.
#[derive(Debug, Default)]
pub struct Counters {
    samples: Samples,
    threads: Vec<(u16, Stage, Account)>,
    disk: Option<(BlockDevice, block_device::Counters)>,
}

impl Counters {
    /// Returns counters without samples; at most `room` samples are kept. `device` is the device
    /// number of the disk, if known. The disk's counters are recorded relative to their current
    /// values.
    pub fn new(room: usize, device: Option<u64>) -> Self {
        let disk = device.and_then(BlockDevice::open);
        let disk = disk.and_then(|disk| disk.counters().map(|before| (disk, before)));
        Self { samples: Samples::new(room), threads: Vec::new(), disk }
    }

    /// Adds a thread whose CPU time is sampled. `thread` is its number in the trace; `what` is the
    /// stage whose work it does.
    pub fn add_thread(&mut self, thread: u16, what: Stage, account: Account) {
        self.threads.push((thread, what, account));
    }

    /// Samples all counters, also those of the links of these lanes, which have numbers.
    pub fn sample(&mut self, lanes: &[(u16, Arc<LaneHandle>)]) {
        if !self.samples.begin() {
            return;
        }
        let at_ns = clock::now_ns();
        for (thread, what, account) in &self.threads {
            if let Some(times) = account.times() {
                let running_ns = times.running_ns;
                let waiting_ns = times.waiting_ns;
                let sample = Thread { thread: *thread, what: *what, at_ns, running_ns, waiting_ns };
                self.samples.push(Record::Thread(sample));
            }
        }
        for (lane, handle) in lanes {
            self.sample_link(*lane, handle, LinkSide::Up);
            self.sample_link(*lane, handle, LinkSide::Down);
        }
        if let Some((disk, before)) = &self.disk
            && let Some(now) = disk.counters()
        {
            self.samples.push(Record::Disk(of_disk(&now.since(before), at_ns)));
        }
    }

    /// Samples the TCP counters of a lane's open links on one side.
    pub fn sample_link(&mut self, lane: u16, handle: &LaneHandle, side: LinkSide) {
        for (peer, info) in handle.ask(side, TcpInfo::read) {
            let Ok(info) = info else { continue };
            self.samples.push(Record::Socket(socket(&info, lane, peer, side)));
        }
    }

    /// Returns the samples.
    pub fn into_records(self) -> impl Iterator<Item = Record> {
        self.samples.into_records()
    }
}

fn socket(info: &TcpInfo, lane: u16, peer: u16, side: LinkSide) -> Socket {
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let (direction, bytes) = match side {
        LinkSide::Up => (Direction::Up, info.received),
        LinkSide::Down => (Direction::Down, info.acknowledged),
    };
    Socket {
        lane,
        peer,
        direction,
        at_ns: clock::now_ns(),
        bytes,
        busy_us: micros(info.busy),
        rwnd_limited_us: micros(info.window_limited),
        sndbuf_limited_us: micros(info.buffer_limited),
        retransmitted: info.retransmits,
        rtt_us: u32::try_from(info.round_trip.as_micros()).unwrap_or(u32::MAX),
        cwnd: info.window,
        delivery_kb_s: u32::try_from(info.delivery_rate / 1000).unwrap_or(u32::MAX),
    }
}

fn of_disk(counters: &block_device::Counters, at_ns: u64) -> Disk {
    let short = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    Disk {
        at_ns,
        in_flight: short(counters.in_flight),
        read_bytes: counters.read_bytes,
        written_bytes: counters.written_bytes,
        reads: short(counters.reads),
        writes: short(counters.writes),
        read_ms: short(counters.read_ms),
        write_ms: short(counters.write_ms),
        flushes: short(counters.flushes),
        flush_ms: short(counters.flush_ms),
        busy_ms: short(counters.busy_ms),
        queue_ms: short(counters.queue_ms),
    }
}
