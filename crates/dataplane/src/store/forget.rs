//! Drops files from the page cache.

use std::fs::File;
use std::io;
use std::time::Duration;

use garland_sys::cache::{self, Residency};
use garland_sys::storage::is_in_memory;

/// The maximum number of attempts: other readers may bring pages back into the cache meanwhile.
const TRIES: usize = 5;

/// Drops a file, whose data must be stable, from the page cache, and verifies that no page of it is
/// left. Does nothing if the file is on a file system that exists only in memory.
///
/// # Errors
/// When pages of the file stay in the cache, or the kernel does not report which ones do.
pub fn forget(file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    if length == 0 || is_in_memory(file)? {
        return Ok(());
    }
    let mut left = Residency { pages: 0, cached: 0, probe: cache::CacheProbe::Cachestat };
    for attempt in 0..TRIES {
        if attempt > 0 {
            garland_sys::threads::sleep(Duration::from_millis(20));
        }
        cache::forget(file)?;
        left = cache::residency(file, length)?;
        if left.cached == 0 {
            return Ok(());
        }
    }
    let Residency { pages, cached, .. } = left;
    Err(io::Error::other(format!("{cached} of its {pages} pages stay in the page cache")))
}
