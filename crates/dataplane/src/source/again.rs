//! Reads a source again whose stamp has changed although perhaps no byte has: chmod(2),
//! utimensat(2), rename(2) and link(2) change the ctime, too.

use garland_core::plan::Layout;
use garland_protocol::copy::content_digest;

use super::Content;

/// The number of readings after which a source counts as changed whose stamp changes all the time.
const READINGS_MAX: u32 = 3;

/// Returns whether all blocks of `source` still have the digests that `digest` returns. Then its
/// present stamp is that of an unchanged source. Gives up when `is_over` returns true.
pub fn is_same_again(
    source: &dyn Content,
    layout: Layout,
    digest: impl Fn(u64) -> Option<[u8; 32]>,
    is_over: impl Fn() -> bool,
) -> bool {
    let mut bytes = vec![0; layout.block_size as usize];
    let mut is_same = |index| {
        let block = &mut bytes[..layout.block_length(index) as usize];
        !is_over()
            && source.read(layout, index, block).is_ok()
            && digest(index) == Some(content_digest(block))
    };
    for _ in 0..READINGS_MAX {
        let Some(stamps) = source.stamps() else { return false };
        if !(0..layout.blocks()).all(&mut is_same) {
            return false;
        }
        if source.stamps().as_ref() == Some(&stamps) {
            source.accept(&stamps);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{FileExt, PermissionsExt};

    use super::*;
    use crate::source::{Source, join};
    use crate::tests::Scratch;

    #[test]
    fn what_changes_no_byte_is_no_change() {
        let dir = Scratch::new("again-same");
        let path = dir.join("f");
        fs::write(&path, "content").unwrap();
        fs::write(dir.join("g"), "more").unwrap();
        let files = || vec![Source::open(&path).unwrap(), Source::open(&dir.join("g")).unwrap()];
        let open = [1, 2].map(|count| join(files().into_iter().take(count).collect()));
        for source in open {
            let layout = Layout { length: source.length(), block_size: 4, open: false };
            let digests: Vec<[u8; 32]> = (0..layout.blocks())
                .map(|index| {
                    let mut bytes = vec![0; layout.block_length(index) as usize];
                    source.read(layout, index, &mut bytes).unwrap();
                    content_digest(&bytes)
                })
                .collect();
            let same =
                || is_same_again(&*source, layout, |at| Some(digests[at as usize]), || false);
            let changes: [&dyn Fn(); 4] = [
                &|| fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap(),
                &|| File::open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap(),
                &|| fs::rename(&path, dir.join("h")).unwrap(),
                &|| fs::hard_link(dir.join("h"), &path).unwrap(),
            ];
            for (number, change) in changes.iter().enumerate() {
                // A change within a tick of the kernel's clock has the same time.
                while source.is_unchanged() {
                    change_again(number, &path, &dir, change);
                }
                assert!(same() && source.is_unchanged(), "{number}");
            }
            let _ = fs::remove_file(dir.join("h"));
            let other = File::options().write(true).open(&path).unwrap();
            other.write_all_at(b"C", 0).unwrap();
            while source.is_unchanged() {
                other.write_all_at(b"C", 0).unwrap();
            }
            assert!(!same() && !source.is_unchanged());
            other.write_all_at(b"c", 0).unwrap();
        }
    }

    /// Makes a change once more, from the state before it.
    fn change_again(number: usize, path: &std::path::Path, dir: &Scratch, change: &dyn Fn()) {
        match number {
            2 if !path.exists() => fs::rename(dir.join("h"), path).unwrap(),
            3 if path.exists() => fs::remove_file(path).unwrap(),
            _ => {}
        }
        change();
    }
}
