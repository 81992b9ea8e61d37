//! How a copy uses the page cache. The kernel writes a file to its disk late and reads it in small
//! steps: the disk would idle while the wire is busy, and the wire while the disk is. So what is
//! written goes on to the disk at once ([`WriteBack`]), and what comes next is read meanwhile
//! ([`ReadAhead`]). A file that is larger than a fifth of memory leaves the cache again behind
//! both, or is written past it ([`DirectFile`]), so that it does not push out everything else.

mod chunks;
mod direct;
mod read_ahead;
mod write_back;

use std::sync::OnceLock;

use garland_sys::{cgroup, process};

pub use self::direct::DirectFile;
pub use self::read_ahead::ReadAhead;
pub use self::write_back::WriteBack;

/// The part of memory that a file may take up in the page cache.
const PART: u64 = 5;

/// Returns whether a file of `length` bytes must not stay in the page cache.
fn is_large(length: u64) -> bool {
    length > most()
}

/// Returns the largest number of bytes of a file that may stay in the page cache.
fn most() -> u64 {
    static MAX_CACHED_BYTES: OnceLock<u64> = OnceLock::new();
    *MAX_CACHED_BYTES.get_or_init(|| {
        let limit = cgroup::memory().map_or(u64::MAX, |memory| memory.most);
        // A kernel that does not tell its memory has 0.
        let memory = Some(process::total_memory()).filter(|memory| *memory > 0);
        memory.map_or(u64::MAX, |memory| memory.min(limit) / PART)
    })
}
