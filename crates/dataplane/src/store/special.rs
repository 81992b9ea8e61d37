//! Opens existing destinations that are not files: devices and pipes.

use std::path::Path;

use garland_sys::confine::Root;
use rustix::fs::FileType;

use super::device::DeviceStore;
use super::fifo::FifoStore;
use super::{Store, StoreError, on_disk};

/// Paths of the agent's own standard streams.
const OWN: [&str; 4] = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd"];

/// Opens `path` if it is a block device or a pipe; `length` is the number of bytes, if known.
///
/// # Errors
/// When it is something that cannot be written to.
pub fn open(
    root: &Root,
    path: &Path,
    length: Option<u64>,
    (force, fsync): (bool, bool),
) -> Result<Option<Box<dyn Store>>, StoreError> {
    let refused = |reason: &str| Err(StoreError::refused("write to", path.display(), reason));
    if matches!(root, Root::Free) && OWN.iter().any(|own| path.starts_with(own)) {
        return refused(
            "it is a standard stream of the agent; write NODE:- for the agent's output",
        );
    }
    let Ok(stat) = root.look(path) else { return Ok(None) };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => {
            Some(on_disk(None, DeviceStore::open(root, path, length, (force, fsync))?))
        }
        FileType::Fifo => Some(Box::new(FifoStore::open(root, path)?)),
        FileType::CharacterDevice => {
            return refused("it is a character device; only /dev/null is supported");
        }
        FileType::Socket => return refused("it is a socket"),
        _ => None,
    })
}
