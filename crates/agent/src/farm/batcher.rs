//! Reports the ends of jobs, several in one message while more are about to end.

use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::{FarmEvent, TaskEnd};
use garland_sys::threads;

/// How long an end may wait for others.
const PATIENCE: Duration = Duration::from_millis(5);

/// The most ends in one message.
const TOGETHER: usize = 64;

/// Receives events.
pub type Tell = Arc<dyn Fn(FarmEvent) + Send + Sync>;

/// Ends that are not reported yet.
pub struct EventBatcher {
    tell: Tell,
    ends: Mutex<(Vec<TaskEnd>, bool)>,
    changed: Condvar,
}

impl EventBatcher {
    /// Reports events to `tell`; a thread of its own reports those that would wait too long.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn begin(tell: Tell) -> io::Result<Arc<Self>> {
        let saying = Self { tell, ends: Mutex::default(), changed: Condvar::new() };
        let saying = Arc::new(saying);
        let late = Arc::clone(&saying);
        threads::spawn("saying", move || late.tell_late())?;
        Ok(saying)
    }

    /// Reports an event at once.
    pub fn tell(&self, event: FarmEvent) {
        (self.tell)(event);
    }

    /// A job has ended; `is_last` if no other is about to.
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

    /// Ends the thread.
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
            std::thread::sleep(PATIENCE);
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
