//! Hides the memory of this process from debuggers, core dumps and other processes of its user
//! (`PR_SET_DUMPABLE`, prctl(2)). Root still sees it. Programs that this process starts are not
//! hidden.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// The number of [`Shown`] values; `None` if this process is not hidden.
static SHOWN: Mutex<Option<usize>> = Mutex::new(None);

/// Hides this process.
///
/// # Errors
/// When the kernel refuses.
pub fn hide() -> io::Result<()> {
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    shown.get_or_insert(0);
    Ok(())
}

/// Shows this process again as long as the value lives. The kernel gives the files of a hidden
/// process in `/proc` to root, so that its user, even the process itself, cannot open those that
/// are only for their owner.
#[derive(Debug)]
pub struct Shown(());

/// Shows this process, if it is hidden.
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
    if let Some(shown) = &mut *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) {
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
        let (first, second) = (show(), show());
        drop(first);
        let shown = dumpable_behavior().unwrap();
        drop(second);
        let hidden = dumpable_behavior().unwrap();
        *SHOWN.lock().unwrap() = None;
        set_dumpable_behavior(DumpableBehavior::Dumpable).unwrap();
        assert_eq!((shown, hidden), (DumpableBehavior::Dumpable, DumpableBehavior::NotDumpable));
    }
}
