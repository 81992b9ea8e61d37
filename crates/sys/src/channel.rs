//! Queues of values between threads: those of [`std::sync::mpsc`], whose errors they have.

use std::sync::Arc;
use std::sync::mpsc;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::Duration;

use crate::{clock, world};

/// Wakes the threads of a simulated world that wait at the other end of a queue, also when it is
/// dropped.
#[derive(Clone, Debug)]
struct Bell(Arc<u8>);

impl Bell {
    fn key(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    fn ring(&self) {
        world::wake(self.key());
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.ring();
    }
}

// The fields are dropped in order: the bell rings when the end is gone.

/// The end of an unbounded queue that values are put into.
#[derive(Debug)]
pub struct Sender<T> {
    real: mpsc::Sender<T>,
    bell: Bell,
}

/// The end of a bounded queue that values are put into.
#[derive(Debug)]
pub struct SyncSender<T> {
    real: mpsc::SyncSender<T>,
    bell: Bell,
}

/// The end of a queue that values are taken from.
#[derive(Debug)]
pub struct Receiver<T> {
    real: mpsc::Receiver<T>,
    bell: Bell,
}

/// Creates an unbounded queue.
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let ((sender, receiver), bell) = (mpsc::channel(), Bell(Arc::new(0)));
    (Sender { real: sender, bell: bell.clone() }, Receiver { real: receiver, bell })
}

/// Creates a queue of at most `bound` values.
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let ((sender, receiver), bell) = (mpsc::sync_channel(bound), Bell(Arc::new(0)));
    (SyncSender { real: sender, bell: bell.clone() }, Receiver { real: receiver, bell })
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { real: self.real.clone(), bell: self.bell.clone() }
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> Self {
        Self { real: self.real.clone(), bell: self.bell.clone() }
    }
}

impl<T> Sender<T> {
    /// Puts a value into the queue.
    ///
    /// # Errors
    /// When the receiver was dropped.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let sent = self.real.send(value);
        self.bell.ring();
        sent
    }
}

impl<T> SyncSender<T> {
    /// Puts a value into the queue; waits while the queue is full.
    ///
    /// # Errors
    /// When the receiver was dropped.
    pub fn send(&self, mut value: T) -> Result<(), SendError<T>> {
        while world::inside() {
            value = match self.try_send(value) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(value)) => return Err(SendError(value)),
                Err(TrySendError::Full(value)) => value,
            };
            if world::is_over() {
                return Err(SendError(value));
            }
            world::wait(self.bell.key(), None);
        }
        self.real.send(value)
    }

    /// Puts a value into the queue without waiting.
    ///
    /// # Errors
    /// When the queue is full, or the receiver was dropped.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let sent = self.real.try_send(value);
        self.bell.ring();
        sent
    }
}

impl<T> Receiver<T> {
    /// Takes the oldest value; waits while the queue is empty.
    ///
    /// # Errors
    /// When the queue is empty and all senders were dropped.
    pub fn recv(&self) -> Result<T, RecvError> {
        while world::inside() {
            match self.try_recv() {
                Err(TryRecvError::Empty) if !world::is_over() => {
                    world::wait(self.bell.key(), None);
                }
                taken => return taken.map_err(|_| RecvError),
            }
        }
        self.real.recv()
    }

    /// Takes the oldest value without waiting.
    ///
    /// # Errors
    /// When the queue is empty.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let taken = self.real.try_recv();
        // A sender may wait for room.
        if taken.is_ok() {
            self.bell.ring();
        }
        taken
    }

    /// Takes the oldest value; waits while the queue is empty, at most for `time`.
    ///
    /// # Errors
    /// When the time is up, or the queue is empty and all senders were dropped.
    pub fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        if !world::inside() {
            return self.real.recv_timeout(time);
        }
        let until_ns = clock::after(time);
        loop {
            let left = clock::until(until_ns);
            match self.try_recv() {
                Err(TryRecvError::Empty) if left.is_zero() || world::is_over() => {
                    return Err(RecvTimeoutError::Timeout);
                }
                Err(TryRecvError::Empty) => drop(world::wait(self.bell.key(), Some(left))),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Ok(value) => return Ok(value),
            }
        }
    }

    /// Returns an iterator that takes values, waits for further ones, and ends when all senders
    /// were dropped.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.recv().ok())
    }

    /// Returns an iterator that takes the values that are in the queue.
    pub fn try_iter(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.try_recv().ok())
    }
}
