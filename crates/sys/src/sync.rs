//! Locks and conditions. A panic of a thread that holds a lock does not poison it.

use std::fmt;
use std::time::Duration;

use crate::{clock, world};

/// The guard of a locked [`Mutex`].
pub type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

/// A value that one thread at a time may use.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until no other thread uses the value, and locks it until the guard is dropped.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        while world::inside() {
            if let Some(guard) = self.0.try_lock() {
                return guard;
            }
            world::give_way();
        }
        self.0.lock()
    }

    /// Locks the value if no other thread uses it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock()
    }

    /// Returns the value, which no other thread can use meanwhile.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A condition that threads wait for, each with a locked [`Mutex`] that they unlock meanwhile.
#[derive(Debug, Default)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// Creates a condition that nobody waits for.
    #[must_use]
    pub const fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Waits until [`Self::notify_all`] or [`Self::notify_one`] is called. May return earlier.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        match world::inside() {
            true => drop(self.wait_in_world(guard, None)),
            false => self.0.wait(guard),
        }
    }

    /// Waits as [`Self::wait`], at most for `time`. Returns whether the time is up.
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, time: Duration) -> bool {
        match world::inside() {
            true => !self.wait_in_world(guard, Some(time)),
            false => self.0.wait_for(guard, time).timed_out(),
        }
    }

    /// Waits while `is_waiting` returns true for the value.
    pub fn wait_while<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut is_waiting: impl FnMut(&mut T) -> bool,
    ) {
        while is_waiting(guard) {
            self.wait(guard);
        }
    }

    /// Waits while `is_waiting` returns true for the value, at most for `time`. Returns whether the
    /// time is up.
    pub fn wait_while_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut is_waiting: impl FnMut(&mut T) -> bool,
        time: Duration,
    ) -> bool {
        let until_ns = clock::after(time);
        while is_waiting(guard) {
            let left = clock::until(until_ns);
            if left.is_zero() {
                return true;
            }
            self.wait_for(guard, left);
        }
        false
    }

    fn wait_in_world<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        time: Option<Duration>,
    ) -> bool {
        let guarded = MutexGuard::mutex(guard);
        MutexGuard::unlocked(guard, || {
            let is_woken = world::wait(self.key(), time);
            // The lock is taken without another thread running in between.
            while guarded.is_locked() {
                world::give_way();
            }
            is_woken
        })
    }

    /// Wakes one of the threads that wait.
    pub fn notify_one(&self) {
        self.0.notify_one();
        world::wake(self.key());
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
        world::wake(self.key());
    }
}
