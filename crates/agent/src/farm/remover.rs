//! Removes the directories of jobs that are over, in a thread: on some disks this takes longer than
//! the jobs themselves, and the orders for further jobs must not wait for it.

use std::fs;
use std::io;
use std::path::PathBuf;

use garland_sys::channel::{SyncSender, sync_channel};
use garland_sys::removal;
use garland_sys::threads::{self, Joined};

/// The maximum number of directories that wait for their removal. If jobs end faster than that,
/// they have to wait: otherwise the disk could become full.
const WAITING: usize = 64;

/// Removes jobs' directories. Dropping this waits until all are removed.
pub struct Remover {
    /// The directory that contains the jobs' directories.
    folder: PathBuf,
    /// The number of directories so far; each waits under a name with its number.
    count: u64,
    waiting: SyncSender<PathBuf>,
    // Dropped last, since the thread ends with the sender.
    _thread: Joined,
}

impl Remover {
    /// Starts the thread for the jobs' directories in `folder`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(folder: PathBuf) -> io::Result<Self> {
        let (waiting, paths) = sync_channel::<PathBuf>(WAITING);
        let remove = move |path: PathBuf| {
            // Errors are ignored: the removal is tried again at the end of the run.
            let _ = removal::remove_dir_all(&path);
        };
        let thread = threads::spawn("remove", move || paths.iter().for_each(remove))?;
        Ok(Self { folder, count: 0, waiting, _thread: thread.into() })
    }

    /// Removes a job's directory, if there is one. The job may get a new one at once.
    pub fn remove(&mut self, job: u32) {
        self.count += 1;
        let path = self.folder.join(format!(".{}", self.count));
        if fs::rename(self.folder.join(job.to_string()), &path).is_ok() {
            // Cannot fail: the thread ends with the sender.
            let _ = self.waiting.send(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_removed_and_its_name_is_free_at_once() {
        let folder = std::env::temp_dir().join(format!("garland-remover-{}", std::process::id()));
        let mut remover = Remover::start(folder.clone()).unwrap();
        for _ in 0..2 * WAITING {
            fs::create_dir_all(folder.join("7/in")).unwrap();
            fs::write(folder.join("7/in/file"), "x").unwrap();
            remover.remove(7);
            assert!(!folder.join("7").exists());
        }
        remover.remove(8);
        drop(remover);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(folder).unwrap();
    }
}
