//! Reports ended jobs. While other jobs wait to be started, several reports are sent in one
//! message.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::farm::{FarmEvent, TaskEnd};
use garland_sys::sync::{Condvar, Mutex};
use garland_sys::threads;

/// The maximum delay of the report of an ended job, which allows several reports to be sent
/// together.
const MAX_REPORT_DELAY: Duration = Duration::from_millis(5);

/// The number of waiting reports of ended jobs at which all are sent without further delay.
const TOGETHER: usize = 64;

/// A function that receives events.
pub type Tell = Arc<dyn Fn(FarmEvent) + Send + Sync>;

/// Collects jobs that have ended, and reports several of them in one message.
pub struct EventBatcher {
    tell: Tell,
    ends: Mutex<(Vec<TaskEnd>, bool)>,
    changed: Condvar,
}

impl EventBatcher {
    /// Creates a batcher that passes events to `tell`, and starts the thread that sends delayed
    /// reports.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn begin(tell: Tell) -> io::Result<Arc<Self>> {
        let batcher = Self { tell, ends: Mutex::default(), changed: Condvar::new() };
        let batcher = Arc::new(batcher);
        let late = Arc::clone(&batcher);
        threads::spawn("batcher", move || late.tell_late())?;
        Ok(batcher)
    }

    /// Passes on an event without delay.
    pub fn tell(&self, event: FarmEvent) {
        (self.tell)(event);
    }

    /// Adds a job that has ended. `is_last` means that no other job waits to be started: then all
    /// ended jobs are reported without delay.
    pub fn ended(&self, end: TaskEnd, is_last: bool) {
        let mut ends = self.ends.lock();
        ends.0.push(end);
        if is_last || ends.0.len() >= TOGETHER {
            let together = std::mem::take(&mut ends.0);
            drop(ends);
            (self.tell)(FarmEvent::Ended(together));
        } else if ends.0.len() == 1 {
            self.changed.notify_one();
        }
    }

    /// Stops the thread. Ended jobs that are not reported yet are dropped.
    pub fn end(&self) {
        self.ends.lock().1 = true;
        self.changed.notify_one();
    }

    fn tell_late(&self) {
        let mut ends = self.ends.lock();
        loop {
            self.changed.wait_while(&mut ends, |(ends, over)| ends.is_empty() && !*over);
            if ends.1 {
                return;
            }
            drop(ends);
            threads::sleep(MAX_REPORT_DELAY);
            ends = self.ends.lock();
            let together = std::mem::take(&mut ends.0);
            drop(ends);
            if !together.is_empty() {
                (self.tell)(FarmEvent::Ended(together));
            }
            ends = self.ends.lock();
        }
    }
}
