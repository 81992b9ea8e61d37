//! Hides the memory of this process from debuggers, core dumps and other processes of its user
//! (`PR_SET_DUMPABLE`, prctl(2)). Root still sees it. Programs that this process starts are not
//! hidden.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// The number of [`Shown`] values that exist; `None` if this process was never hidden.
static SHOWN_COUNT: Mutex<Option<usize>> = Mutex::new(None);

/// Hides the memory of this process.
///
/// # Errors
/// When the kernel refuses.
pub fn hide() -> io::Result<()> {
    let mut shown = SHOWN_COUNT.lock().unwrap_or_else(PoisonError::into_inner);
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    shown.get_or_insert(0);
    Ok(())
}

/// A guard: as long as this value exists, the process is not hidden. While a process is hidden, its
/// files in `/proc` belong to root. Its user, and even the process itself, then cannot open files
/// there that only the owner may open.
#[derive(Debug)]
pub struct Shown(());

/// Stops hiding this process until the returned value is dropped. Does nothing if the process is
/// not hidden.
#[must_use]
pub fn show() -> Shown {
    change(|shown| shown + 1);
    Shown(())
}

impl Drop for Shown {
    fn drop(&mut self) {
        change(|shown| shown.saturating_sub(1));
    }
}

fn change(count: impl Fn(usize) -> usize) {
    if let Some(shown) = &mut *SHOWN_COUNT.lock().unwrap_or_else(PoisonError::into_inner) {
        *shown = count(*shown);
        // Fails for no process that has been hidden.
        let _ = set_dumpable_behavior(match *shown {
            0 => DumpableBehavior::NotDumpable,
            _ => DumpableBehavior::Dumpable,
        });
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::dumpable_behavior;

    use super::*;

    #[test]
    fn a_hidden_process_is_shown_until_the_last_use_of_its_files() {
        hide().unwrap();
        let first = show();
        let second = show();
        drop(first);
        let shown = dumpable_behavior().unwrap();
        drop(second);
        let hidden = dumpable_behavior().unwrap();
        *SHOWN_COUNT.lock().unwrap() = None;
        set_dumpable_behavior(DumpableBehavior::Dumpable).unwrap();
        assert_eq!((shown, hidden), (DumpableBehavior::Dumpable, DumpableBehavior::NotDumpable));
    }
}
