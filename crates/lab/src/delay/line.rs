//! The lab's own delay line: takes frames behind the queues that limit the rates of ports, holds
//! each for the delay of its medium, and sends it on.
//!
//! It is a process, a child of the keeper, and ends with it. A frame's time begins when the kernel
//! received it at the end of the cut cable, not when this process gets to it. So what is counted as
//! late is all the time that a frame lost to a busy machine.

use std::io;
use std::os::fd::AsFd;

use garland_sys::frame_tap::{FRAME_MAX, FrameOutlet, FrameTap};
use garland_sys::segment::Segment;
use garland_sys::{clock, event, threads, urgent};
use garland_topology::Topology;

use super::counters::{self, LineCounters};
use super::queue::DelayQueue;
use super::{Direction, Held, directions};

/// The frames that are received from one port before the others are looked after.
const BATCH: usize = 64;

/// The bytes of frames that a port may get while this process does not run.
const SOCKET_ROOM: usize = 16 << 20;

/// The pause after the kernel refused to wait, for a reason that may pass.
const RETRY_PAUSE: std::time::Duration = std::time::Duration::from_millis(1);

/// The sockets of all directions with a delay, and their counters.
#[derive(Debug)]
pub(crate) struct DelayLine {
    ports: Vec<OpenPort>,
    counters: Segment,
}

#[derive(Debug)]
struct OpenPort {
    tap: FrameTap,
    outlet: FrameOutlet,
    held: Held,
}

impl DelayLine {
    /// Opens the sockets of a topology whose devices exist. The caller must be in the namespace of
    /// the media.
    pub(crate) fn open(topology: &Topology) -> io::Result<Self> {
        let all = directions(topology);
        let ports = all.iter().filter_map(|direction| {
            let Direction { from, to, held } = direction;
            let open = |held: Held| {
                let tap = FrameTap::open(from, SOCKET_ROOM)?;
                Ok(OpenPort { tap, outlet: FrameOutlet::open(to)?, held })
            };
            held.map(open)
        });
        let ports: Vec<OpenPort> = ports.collect::<io::Result<_>>()?;
        let counters = counters::shared(ports.len())?;
        Ok(Self { ports, counters })
    }

    /// Returns the number of the descriptor of the counters in this process.
    pub(crate) fn counters(&self) -> u32 {
        self.counters.number()
    }

    /// Closes the sockets, and keeps the counters for commands that read them.
    pub(crate) fn into_counters(self) -> Segment {
        self.counters
    }

    /// Passes frames on for ever.
    pub(crate) fn run(self) -> ! {
        // An ordinary thread would wait for a processor behind the programs of the nodes. Where it
        // may not be urgent, more frames are late, which is counted.
        let _ = urgent::become_urgent();
        let mut buffer = vec![0; FRAME_MAX];
        let mut queues: Vec<DelayQueue> = self
            .ports
            .iter()
            .map(|port| {
                let room = usize::try_from(port.held.room()).unwrap_or(usize::MAX);
                DelayQueue::new(port.held.delay.0, room)
            })
            .collect();
        let waits: Vec<_> = self.ports.iter().map(|port| port.tap.as_fd()).collect();
        loop {
            let next = queues.iter().filter_map(DelayQueue::next_due).min();
            let Ok(readable) = event::wait_readable(&waits, next.map(clock::until)) else {
                threads::sleep(RETRY_PAUSE);
                continue;
            };
            for (at, port) in self.ports.iter().enumerate() {
                let counted = LineCounters::new(&self.counters, at);
                if readable[at] {
                    port.receive(&mut queues[at], &mut buffer, &counted);
                }
                port.release(&mut queues[at], &counted);
            }
        }
    }
}

impl OpenPort {
    /// Puts the frames that have arrived into the queue.
    fn receive(&self, queue: &mut DelayQueue, buffer: &mut [u8], counted: &LineCounters<'_>) {
        for _ in 0..BATCH {
            match self.tap.receive(buffer) {
                Ok(Some(frame)) => {
                    let arrived = clock::now_ns().saturating_sub(frame.age_ns);
                    if !queue.add(arrived, &buffer[..frame.length]) {
                        counted.lose(1);
                    }
                }
                Ok(None) => break,
                // A frame that cannot be passed on as it is.
                Err(_) => {
                    counted.lose(1);
                    break;
                }
            }
        }
        counted.lose(self.tap.lost().unwrap_or(0));
    }

    /// Sends on what is due.
    fn release(&self, queue: &mut DelayQueue, counted: &LineCounters<'_>) {
        while let Some(frame) = queue.take(clock::now_ns()) {
            match self.outlet.send(&frame.bytes) {
                Ok(()) => {
                    let late_ns = clock::now_ns().saturating_sub(frame.due_ns);
                    counted.release(late_ns, self.held.lateness_ns());
                }
                Err(_) => counted.lose(1),
            }
        }
    }
}
