//! Starts threads with names. If the system allows no more threads, the caller gets an error, not a
//! panic.

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// Starts a thread.
///
/// # Errors
/// When this user or this control group may have no more threads.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    builder(name).spawn(work).map_err(|error| refused(name, &error))
}

/// Starts a thread with a stack of `stack` bytes.
///
/// # Errors
/// As of [`spawn`].
pub fn spawn_small<T: Send + 'static>(
    name: &str,
    stack: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    builder(name).stack_size(stack).spawn(work).map_err(|error| refused(name, &error))
}

/// Starts a thread that ends with `scope`.
///
/// # Errors
/// As of [`spawn`].
pub fn spawn_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    builder(name).spawn_scoped(scope, work).map_err(|error| refused(name, &error))
}

/// Starts a thread with a stack of `stack` bytes, which ends with `scope`.
///
/// # Errors
/// As of [`spawn`].
pub fn spawn_small_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    stack: usize,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let builder = builder(name).stack_size(stack);
    builder.spawn_scoped(scope, work).map_err(|error| refused(name, &error))
}

fn builder(name: &str) -> Builder {
    Builder::new().name(name.to_owned())
}

/// Returns an error with the name of the thread that cannot be started, the reason, and a hint.
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
        let name = spawn("named", || std::thread::current().name().map(str::to_owned));
        assert_eq!(name.unwrap().join().unwrap().as_deref(), Some("named"));
        let sum = std::thread::scope(|scope| spawn_in(scope, "sum", || 1 + 1).unwrap().join());
        assert_eq!(sum.unwrap(), 2);
    }
}
