//! Opens existing destinations that are not regular files: devices and pipes.

use std::path::Path;

use garland_sys::confine::Root;
use rustix::fs::FileType;

use super::device::DeviceStore;
use super::fifo::FifoStore;
use super::{Store, StoreError, on_disk};

/// Paths of the agent's own standard streams.
const OWN: [&str; 4] = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd"];

/// Opens `path` if it is a block device or a named pipe; returns none for a regular file, a
/// directory, or a path that does not exist. `length` is the number of bytes to be written, if
/// known. `force` allows a device that is in use.
///
/// # Errors
/// When it is a character device, a socket, or a standard stream of the agent, or when the device
/// or pipe cannot be opened.
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
