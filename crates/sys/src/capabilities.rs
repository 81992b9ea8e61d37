//! Parts of root's rights (capabilities(7)), which a process can give up.

use std::io;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Gives up the right to write a file that keeps its set-user-ID and set-group-ID bits
/// (`CAP_FSETID`): the kernel takes the bits off such a file when this thread, or one that it
/// starts from now on, changes its content, as it does for all users but root.
///
/// # Errors
/// When the kernel refuses.
pub fn give_up_set_id() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.effective.remove(CapabilitySet::FSETID);
    sets.permitted.remove(CapabilitySet::FSETID);
    sets.inheritable.remove(CapabilitySet::FSETID);
    Ok(set_capabilities(None, sets)?)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn a_thread_without_the_right_takes_set_id_bits_off_what_it_writes() {
        let path = std::env::temp_dir().join(format!("garland-set-id-{}", std::process::id()));
        let mut file = fs::File::create(&path).unwrap();
        // In a thread of its own: other tests keep the right.
        let mode = std::thread::scope(|scope| {
            let write = || {
                give_up_set_id().unwrap();
                file.set_permissions(Permissions::from_mode(0o6755)).unwrap();
                file.write_all(b"other").unwrap();
                file.metadata().unwrap().mode() & 0o7777
            };
            scope.spawn(write).join().unwrap()
        });
        fs::remove_file(&path).unwrap();
        assert_eq!(mode, 0o755);
    }
}
