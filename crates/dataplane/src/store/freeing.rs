//! Frees the space of files that have lost their last name, in threads of their own, and repeats
//! what failed on a full disk when there is room again.
//!
//! Each device has at most one thread and a short queue, so that a disk on which this hangs delays
//! no copy to another one.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::Duration;

use garland_sys::sync::{Condvar, Mutex};
use garland_sys::threads;
use rustix::io::Errno;

/// The maximum number of files of a device that wait to be closed, since each takes a descriptor.
/// Who removes more closes them himself.
const QUEUED_MAX: usize = 64;

/// The maximum number of threads: of devices on which files are being closed.
const THREADS_MAX: usize = 16;

/// The number of devices from which on those are forgotten on which nothing is being closed.
const DEVICES_KEPT: usize = 256;

/// How long a full disk is given to free the next file. It takes about a second for 10 GiB.
const FREEING_TIMEOUT: Duration = Duration::from_secs(10);

static DEVICES: Mutex<BTreeMap<u64, Device>> = Mutex::new(BTreeMap::new());

/// A file is closed.
static IS_CLOSED: Condvar = Condvar::new();

#[derive(Default)]
struct Device {
    queue: VecDeque<Box<dyn Send>>,
    /// Whether a thread closes the files.
    is_busy: bool,
    /// The number of files that were closed.
    closed: u64,
}

/// Drops `file`, the last descriptor of a file on `device` without a name, in another thread if
/// there may be a further one.
pub fn free(device: u64, file: Box<dyn Send>) {
    if let Some(file) = queue(device, file) {
        // Outside of the lock: this may take long.
        drop(file);
    }
}

/// Queues `file` to be dropped; returns it if that is not possible.
fn queue(device: u64, file: Box<dyn Send>) -> Option<Box<dyn Send>> {
    let mut devices = DEVICES.lock();
    let threads = devices.values().filter(|device| device.is_busy).count();
    if devices.len() >= DEVICES_KEPT {
        devices.retain(|_, device| device.is_busy);
    }
    let own = devices.entry(device).or_default();
    if own.queue.len() >= QUEUED_MAX || !own.is_busy && threads >= THREADS_MAX {
        return Some(file);
    }
    own.queue.push_back(file);
    if !own.is_busy {
        own.is_busy = threads::spawn("free", move || close_all(device)).is_ok();
    }
    if own.is_busy { None } else { own.queue.pop_back() }
}

fn close_all(device: u64) {
    while let Some(file) = next(device) {
        drop(file);
        if let Some(own) = DEVICES.lock().get_mut(&device) {
            own.closed += 1;
        }
        IS_CLOSED.notify_all();
    }
    // Who waits for more waits in vain.
    IS_CLOSED.notify_all();
}

/// Returns the next file of a device; none if there is none, and its thread ends.
fn next(device: u64) -> Option<Box<dyn Send>> {
    let mut devices = DEVICES.lock();
    let own = devices.get_mut(&device)?;
    let file = own.queue.pop_front();
    own.is_busy = file.is_some();
    file
}

/// Does `work` on `device`. If that fails since the disk or a quota is full, or too many files are
/// open, and files of the device are being freed, does it again when the next one is.
///
/// # Errors
/// Those of `work`.
pub fn with_room<T>(device: u64, mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        // What is freed from here on may be room that `work` does not find.
        let seen = closed(device);
        let done = work();
        if !done.as_ref().is_err_and(is_full) || !await_more(device, seen) {
            return done;
        }
    }
}

/// Returns whether there may be room after an error if files are removed.
pub fn is_full(error: &io::Error) -> bool {
    const FULL: [Errno; 3] = [Errno::NOSPC, Errno::DQUOT, Errno::MFILE];
    Errno::from_io_error(error).is_some_and(|errno| FULL.contains(&errno))
}

/// Returns the number of files of a device that were freed so far.
pub fn closed(device: u64) -> u64 {
    DEVICES.lock().get(&device).map_or(0, |own| own.closed)
}

/// Waits until another number of files of a device than `closed` is freed. Returns false if none is
/// being freed, or if that takes too long.
pub fn await_more(device: u64, closed: u64) -> bool {
    let mut devices = DEVICES.lock();
    let waits = |devices: &mut BTreeMap<u64, Device>| {
        devices.get(&device).is_some_and(|own| own.is_busy && own.closed == closed)
    };
    let is_late = IS_CLOSED.wait_while_for(&mut devices, waits, FREEING_TIMEOUT);
    !is_late && devices.get(&device).map_or(0, |own| own.closed) != closed
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Stands for a file whose close takes until the sender is dropped.
    struct Slow(Receiver<()>, Arc<AtomicBool>);

    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.0.recv();
            self.1.store(true, Ordering::SeqCst);
        }
    }

    fn slow() -> (Sender<()>, Box<Slow>, Arc<AtomicBool>) {
        let (close, waits) = channel();
        let is_freed = Arc::<AtomicBool>::default();
        (close, Box::new(Slow(waits, Arc::clone(&is_freed))), is_freed)
    }

    #[test]
    fn what_fails_on_a_full_disk_is_done_again_when_files_are_freed() {
        // Numbers of devices that no test of this process has.
        let device = u64::MAX;
        for errno in [Errno::NOSPC, Errno::DQUOT] {
            let (close, file, is_freed) = slow();
            free(device, file);
            let mut close = Some(close);
            let tries = AtomicUsize::new(0);
            let done = with_room(device, || {
                tries.fetch_add(1, Ordering::SeqCst);
                match is_freed.load(Ordering::SeqCst) {
                    true => Ok(()),
                    false => {
                        close.take();
                        Err(io::Error::from(errno))
                    }
                }
            });
            assert!(done.is_ok(), "{done:?}");
            assert_eq!(tries.load(Ordering::SeqCst), 2);
            // Nothing is being freed any more.
            let full = with_room(device, || Err::<(), _>(io::Error::from(errno)));
            assert_eq!(full.unwrap_err().raw_os_error(), Some(errno.raw_os_error()));
        }
    }

    #[test]
    fn a_file_that_is_freed_while_the_disk_is_found_full_is_room() {
        let device = u64::MAX - 1;
        let (close, file, is_freed) = slow();
        free(device, file);
        let mut close = Some(close);
        let done = with_room(device, || match close.take() {
            Some(close) => {
                drop(close);
                while closed(device) == 0 {
                    threads::sleep(Duration::from_millis(1));
                }
                Err(io::Error::from(Errno::NOSPC))
            }
            None => Ok(()),
        });
        assert!(done.is_ok() && is_freed.load(Ordering::SeqCst));
    }

    #[test]
    fn a_disk_that_hangs_delays_no_other_one() {
        let hung = u64::MAX - 2;
        let (close, file, is_freed) = slow();
        free(hung, file);
        while !DEVICES.lock()[&hung].queue.is_empty() {
            threads::sleep(Duration::from_millis(1));
        }
        // Its queue is bounded, and so are all threads: the rest is closed at once.
        (0..2 * QUEUED_MAX).for_each(|number| free(hung, Box::new(number)));
        assert_eq!(DEVICES.lock()[&hung].queue.len(), QUEUED_MAX);
        let other = u64::MAX - 3;
        let (close_other, file, is_other_freed) = slow();
        free(other, file);
        drop(close_other);
        let mut is_first = true;
        let done = with_room(other, || match std::mem::take(&mut is_first) {
            true if !is_other_freed.load(Ordering::SeqCst) => Err(Errno::NOSPC.into()),
            _ => Ok(()),
        });
        assert!(done.is_ok() && !is_freed.load(Ordering::SeqCst));
        drop(close);
        while await_more(hung, closed(hung)) {}
        assert_eq!(closed(hung), QUEUED_MAX as u64 + 1);
    }
}
