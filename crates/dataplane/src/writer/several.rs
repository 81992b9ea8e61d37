//! Writes several blocks of a copy at the same time, where each write waits for the disk.

use std::sync::Arc;

use garland_sys::channel::{Receiver, SyncSender, sync_channel};
use garland_sys::sync::Mutex;
use garland_sys::threads::{self, Joined};

use super::arrived::{Arrived, settle};
use crate::context::CopyContext;

/// The number of writes at the same time: disks take more, but reach their rate with blocks of a
/// copy.
const WRITES: usize = 4;

/// The threads that write. They end, after all blocks that entered are written, when this is
/// dropped.
pub struct SeveralWrites {
    // Dropped before the threads are joined, which ends them.
    queue: SyncSender<Arrived>,
    _threads: Vec<Joined>,
}

impl SeveralWrites {
    /// Starts the threads if the store takes several writes at a time; none if the system has no
    /// threads left.
    pub fn start(copy: &Arc<CopyContext>) -> Option<Self> {
        if !copy.config.store.takes_several() {
            return None;
        }
        let (queue, arrivals) = sync_channel(0);
        let arrivals = Arc::new(Mutex::new(arrivals));
        let start = || {
            let copy = Arc::clone(copy);
            let arrivals = Arc::clone(&arrivals);
            threads::spawn("write", move || write(&copy, &arrivals)).map(Joined::from)
        };
        let threads: Vec<_> = std::iter::repeat_with(start).take(WRITES).flatten().collect();
        (!threads.is_empty()).then_some(Self { queue, _threads: threads })
    }

    /// Hands over a verified block without encoding; waits while the disk has enough to do. Returns
    /// false if all threads have ended, since the store failed.
    pub fn enter(&self, arrived: Arrived) -> bool {
        self.queue.send(arrived).is_ok()
    }
}

fn write(copy: &CopyContext, arrivals: &Mutex<Receiver<Arrived>>) {
    let _watch = copy.config.awake.watch();
    loop {
        let arrived = arrivals.lock().recv();
        let Ok(Arrived { frame, buffer, .. }) = arrived else { return };
        let offset = copy.layout.offset(frame.index);
        let bytes = &buffer[..frame.length as usize];
        copy.config.faults.before_writing(bytes.len());
        let written = copy.config.store.write_at(offset, bytes);
        if !settle(copy, &frame, buffer, written) {
            return;
        }
    }
}
