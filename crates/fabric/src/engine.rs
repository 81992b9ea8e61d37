//! Waits within a round until an operation completes or the next one is due. The thread either
//! polls or sleeps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_sys::clock;

use super::error::FabricError;
use super::port::{Done, Port};

/// The other node counts as silent if operations are in flight and none completes for this time, in
/// nanoseconds.
const SILENCE_NS: u64 = 8_000_000_000;

/// After this number of unsuccessful polls, the thread yields its CPU after each poll: the thread
/// that it waits for may need that CPU.
const PATIENT_LOOKS: u32 = 1000;

/// The maximum duration of a sleep, after which the helper checks whether the agent is alive.
const LIVENESS_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The event that ends a wait if no operation completes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// None: only the completion of an operation ends the wait.
    Done,
    /// The time at which the next operation is due, in monotonic nanoseconds.
    Due(u64),
    /// An unsuccessful poll, which may have made space in a queue that was full.
    Room,
}

/// Performs the waits of one round on a port.
pub struct Engine<'p, 'l> {
    /// The port that the round uses.
    pub port: &'p mut Port<'l>,
    /// The operations that completed in the last wait.
    pub done: Vec<Done>,
    over: &'p AtomicBool,
    sleeps: bool,
    heard_ns: u64,
    idle_ns: u64,
    start_ns: u64,
    start_cpu_ns: u64,
}

impl<'p, 'l> Engine<'p, 'l> {
    /// Returns the engine of a round that begins now. Its waits fail once `over` is set, which
    /// means that the agent has exited.
    pub fn new(port: &'p mut Port<'l>, over: &'p AtomicBool) -> Self {
        let now = clock::now_ns();
        Self {
            sleeps: port.sleeps(),
            port,
            done: Vec::new(),
            over,
            heard_ns: now,
            idle_ns: 0,
            start_ns: now,
            start_cpu_ns: clock::thread_cpu_ns(),
        }
    }

    /// Waits until an operation completes or `until` occurs. Completed operations are then in
    /// `done`. `now` is the present time, just read from the clock; the returned value is the time
    /// after the wait, both in monotonic nanoseconds. If `busy`, operations are in flight, and the
    /// wait fails if the other node is silent.
    pub fn wait(&mut self, now: u64, until: Until, busy: bool) -> Result<u64, FabricError> {
        self.done.clear();
        if self.sleeps && until != Until::Room {
            self.doze(until, busy)
        } else {
            self.poll(now, until, busy)
        }
    }

    fn poll(&mut self, since: u64, until: Until, busy: bool) -> Result<u64, FabricError> {
        for looks in 1_u32.. {
            self.port.look(&mut self.done)?;
            if !self.done.is_empty() {
                break;
            }
            let now = match until {
                Until::Due(due) => {
                    let now = clock::now_ns();
                    if now >= due {
                        self.idle_ns += now - since;
                        return Ok(now);
                    }
                    now
                }
                Until::Done if looks < PATIENT_LOOKS => {
                    std::hint::spin_loop();
                    continue;
                }
                Until::Done | Until::Room => clock::now_ns(),
            };
            self.check(now, busy || until == Until::Room)?;
            if until == Until::Room {
                return Ok(now);
            }
            if looks > PATIENT_LOOKS {
                std::thread::yield_now();
            }
        }
        let now = clock::now_ns();
        self.idle_ns += now.saturating_sub(since);
        self.heard_ns = now;
        Ok(now)
    }

    fn doze(&mut self, until: Until, busy: bool) -> Result<u64, FabricError> {
        loop {
            let time = match until {
                Until::Due(due) => clock::until(due).min(LIVENESS_CHECK_INTERVAL),
                Until::Done | Until::Room => LIVENESS_CHECK_INTERVAL,
            };
            self.port.sleep(&mut self.done, time)?;
            let now = clock::now_ns();
            if !self.done.is_empty() {
                self.heard_ns = now;
                return Ok(now);
            }
            if matches!(until, Until::Due(due) if now >= due) {
                return Ok(now);
            }
            self.check(now, busy)?;
        }
    }

    fn check(&self, now: u64, busy: bool) -> Result<(), FabricError> {
        if self.over.load(Ordering::Relaxed) {
            return Err(FabricError::AgentExited);
        }
        if busy && now.saturating_sub(self.heard_ns) > SILENCE_NS {
            return Err(FabricError::Silent(SILENCE_NS / 1_000_000_000));
        }
        Ok(())
    }

    /// Returns the time in nanoseconds that this side has been at work since the beginning of the
    /// round: the CPU time of the thread if it sleeps while it waits, else the elapsed time without
    /// waits.
    pub fn work_ns(&self) -> u64 {
        match self.sleeps {
            true => clock::thread_cpu_ns() - self.start_cpu_ns,
            false => (clock::now_ns() - self.start_ns).saturating_sub(self.idle_ns),
        }
    }
}
