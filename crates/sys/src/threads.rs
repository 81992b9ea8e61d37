//! Starts threads with names, joins them, and bounds their number. If no more threads are allowed,
//! the caller gets an error instead of a panic.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use crate::world;

/// The handle of a thread. The thread goes on if the handle is dropped.
#[derive(Debug)]
pub struct JoinHandle<T>(Kind<T>);

#[derive(Debug)]
enum Kind<T> {
    Real(thread::JoinHandle<T>),
    Simulated(world::Task<T>),
}

impl<T> JoinHandle<T> {
    /// Waits until the thread has ended, and returns its result.
    ///
    /// # Errors
    /// If the thread has panicked.
    pub fn join(self) -> thread::Result<T> {
        match self.0 {
            Kind::Real(thread) => thread.join(),
            Kind::Simulated(task) => task.join().ok_or_else(|| Box::new("the world is over") as _),
        }
    }

    /// Returns whether the thread has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Kind::Real(thread) => thread.is_finished(),
            Kind::Simulated(task) => task.is_finished(),
        }
    }
}

/// Waits for `time`.
pub fn sleep(time: Duration) {
    match world::inside() {
        true => world::sleep(time),
        false => thread::sleep(time),
    }
}

/// A thread that is joined when this value is dropped.
#[derive(Debug)]
pub struct Joined(Option<JoinHandle<()>>);

impl Joined {
    /// Returns whether the thread has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl From<JoinHandle<()>> for Joined {
    fn from(thread: JoinHandle<()>) -> Self {
        Self(Some(thread))
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        // A panic has been printed already.
        self.0.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// A limit on the number of threads of one kind: each thread holds a [`Slot`] while it runs.
#[derive(Debug)]
pub struct Slots(AtomicUsize);

/// A slot of [`Slots`] that is taken; dropping this value frees it.
#[derive(Debug)]
pub struct Slot(Arc<Slots>);

impl Slots {
    /// Creates `count` slots, all free.
    #[must_use]
    pub fn new(count: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(count)))
    }

    /// Takes a free slot; `None` if none is free.
    #[must_use]
    pub fn take(self: &Arc<Self>) -> Option<Slot> {
        let one_less = |free: usize| free.checked_sub(1);
        let taken = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
        taken.is_ok().then(|| Slot(Arc::clone(self)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// Starts a thread that is named `name`.
///
/// # Errors
/// When the limit of threads of this user or this control group is reached.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let work = match world::spawn(name, work) {
        Ok(task) => return Ok(JoinHandle(Kind::Simulated(task))),
        Err(work) => work,
    };
    started(name, named_builder(name).spawn(work))
}

fn started<T>(name: &str, thread: io::Result<thread::JoinHandle<T>>) -> io::Result<JoinHandle<T>> {
    let thread = thread.map_err(|error| refused(name, &error))?;
    Ok(JoinHandle(Kind::Real(thread)))
}

/// Starts a thread with a stack of `stack` bytes.
///
/// # Errors
/// Those of [`spawn`].
pub fn spawn_small<T: Send + 'static>(
    name: &str,
    stack: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let work = match world::spawn(name, work) {
        Ok(task) => return Ok(JoinHandle(Kind::Simulated(task))),
        Err(work) => work,
    };
    started(name, named_builder(name).stack_size(stack).spawn(work))
}

/// Starts a thread that is joined when `scope` ends.
///
/// # Errors
/// Those of [`spawn`].
pub fn spawn_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    named_builder(name).spawn_scoped(scope, work).map_err(|error| refused(name, &error))
}

/// Starts a thread with a stack of `stack` bytes, which is joined when `scope` ends.
///
/// # Errors
/// Those of [`spawn`].
pub fn spawn_small_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    stack: usize,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let builder = named_builder(name).stack_size(stack);
    builder.spawn_scoped(scope, work).map_err(|error| refused(name, &error))
}

fn named_builder(name: &str) -> Builder {
    Builder::new().name(name.to_owned())
}

/// Returns the error for a thread that cannot be started: its name, the reason, and a hint.
fn refused(name: &str, error: &io::Error) -> io::Error {
    let text = error.to_string();
    let why = text.find(" (os error").map_or(text.as_str(), |end| &text[..end]).to_lowercase();
    let hint = "raise the process limit of this user (ulimit -u) or of the control group \
                (pids.max)";
    io::Error::new(error.kind(), format!("cannot start the thread {name}: {why}; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_cannot_be_made_is_an_error_with_its_name_and_a_hint() {
        // A stack of this size exceeds the memory of any machine.
        let error = spawn_small("reader", usize::MAX / 4, || ()).expect_err("it is too large");
        let text = error.to_string();
        assert!(text.starts_with("cannot start the thread reader: "), "{text}");
        assert!(text.contains("ulimit -u") && !text.contains("os error"), "{text}");
        let name = spawn("named", || thread::current().name().map(str::to_owned));
        assert_eq!(name.unwrap().join().unwrap().as_deref(), Some("named"));
        let sum = thread::scope(|scope| spawn_in(scope, "sum", || 1 + 1).unwrap().join());
        assert_eq!(sum.unwrap(), 2);
    }

    #[test]
    fn a_thread_keeps_its_slot_until_it_ends() {
        let slots = Slots::new(1);
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let slot = slots.take().expect("one is free");
        let thread = spawn("slot", move || {
            let _slot = slot;
            let _ = ended.recv();
        });
        let thread = Joined::from(thread.unwrap());
        assert!(slots.take().is_none() && !thread.is_finished());
        drop(end);
        drop(thread);
        assert!(slots.take().is_some());
    }
}
