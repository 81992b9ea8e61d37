//! The standard error of a process that runs something on another machine: what it says goes to the
//! log of the node, as far as there is room, and its end is kept for error messages.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use garland_sys::channel::{Receiver, RecvTimeoutError, channel};
use garland_sys::sync::Mutex;
use garland_sys::threads;

/// The maximum length in bytes of a log: root on the other machine may say what it likes.
const LOG_MAX: u64 = 16 << 20;

/// The number of last bytes that are kept.
const TAIL: usize = 64 << 10;

/// How long the messages of a process that has ended are awaited: what it left behind may have its
/// standard error, too.
const LAST_MESSAGES_TIMEOUT: Duration = Duration::from_millis(500);

/// What a process says on standard error.
pub struct Messages {
    tail: Arc<Mutex<Vec<u8>>>,
    /// Nothing is sent: the end closes when all was read.
    end: Receiver<()>,
}

impl Messages {
    /// Reads `errors` to their end in a thread of its own, and appends them to `log`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn read(errors: impl Read + Send + 'static, log: File) -> std::io::Result<Self> {
        let tail = Arc::new(Mutex::new(Vec::new()));
        let (reading, end) = channel();
        let kept = Arc::clone(&tail);
        // It ends with the last process that has the pipe, and nobody waits for it.
        let _ = threads::spawn("messages", move || {
            let _reading = reading;
            pass(errors, log, &kept);
        })?;
        Ok(Self { tail, end })
    }

    /// Returns the last bytes that were said, of a process that has ended.
    pub fn last(&self) -> Vec<u8> {
        match self.end.recv_timeout(LAST_MESSAGES_TIMEOUT) {
            Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
        }
        self.tail.lock().clone()
    }
}

fn pass(mut errors: impl Read, mut log: File, tail: &Mutex<Vec<u8>>) {
    let mut buffer = vec![0; 16 << 10];
    let length = log.metadata().map_or(LOG_MAX, |stat| stat.len());
    let mut room = LOG_MAX.saturating_sub(length);
    while let Ok(read @ 1..) = errors.read(&mut buffer) {
        let said = &buffer[..read];
        let fits = usize::try_from(room).map_or(read, |room| room.min(read));
        // Without the log the command goes on.
        let _ = log.write_all(&said[..fits]);
        room -= fits as u64;
        let mut tail = tail.lock();
        tail.extend_from_slice(said);
        let surplus = tail.len().saturating_sub(TAIL);
        tail.drain(..surplus);
    }
}
