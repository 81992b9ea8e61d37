//! The contents that an agent serves: which content lies at which path of its node. Members and
//! heads name a content and a block of it, never a path: what nobody registered cannot be read.
//!
//! Each is one file with the path and the manifest, named by the digest of the manifest. Nothing is
//! remembered of the files themselves: each block is hashed whenever it is served, so that it does
//! not matter what lies at the path by then.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_protocol::{NAME_MANIFEST_MAX, NameManifest, content_digest};
use garland_sys::private_file;
use garland_sys::sync::Mutex;

/// The maximum number of contents that an agent serves. The oldest one goes for another.
const HOLDINGS_MAX: usize = 10_000;

/// The number of contents whose manifests are kept in memory.
const IN_MEMORY: usize = 4;

/// The maximum length of a path in bytes.
const PATH_MAX: usize = 4096;

/// The length of the prefix of a file: the length of the path.
const PREFIX: usize = 2;

/// The identity of a content: the digest of its encoded manifest.
type Root = [u8; 32];

/// The contents that an agent serves.
#[derive(Debug, Default)]
pub struct Holdings {
    /// The directory of their files; `None` if the agent has no state directory.
    folder: Option<PathBuf>,
    /// Those that were served last, the newest first.
    recent: Mutex<VecDeque<(Root, Arc<Holding>)>>,
    /// Locked while a manifest is read: it may be long, and those in memory are served meanwhile.
    reading: Mutex<()>,
}

/// A content that an agent serves.
#[derive(Debug)]
pub struct Holding {
    /// The path of the file or directory below the agent's root, without a slash at the beginning
    /// (raw bytes).
    path: Vec<u8>,
    manifest: NameManifest,
}

/// A block of a content.
#[derive(Debug, PartialEq, Eq)]
pub struct HeldBlock {
    /// The path of its file below the agent's root (raw bytes).
    pub path: Vec<u8>,
    /// The offset in the file in bytes.
    pub offset: u64,
    /// The length in bytes.
    pub length: u32,
    /// The digest that its bytes must have.
    pub digest: [u8; 32],
}

impl Holdings {
    /// Opens the contents in the directory `folder`, which is created when one is registered.
    pub fn open(folder: Option<PathBuf>) -> Self {
        Self { folder, recent: Mutex::default(), reading: Mutex::default() }
    }

    /// Serves the content with this encoded manifest from `path` from now on.
    ///
    /// # Errors
    /// When the manifest has another digest than `root` or is none, the path is none below a root,
    /// or the file cannot be written.
    pub fn register(&self, root: Root, manifest: &[u8], path: &[u8]) -> Result<(), String> {
        let folder = self.folder.as_ref().ok_or("it has no state directory for names")?;
        if content_digest(manifest) != root {
            return Err("the manifest of the content did not arrive".to_owned());
        }
        NameManifest::parse(manifest)?;
        if !is_below_root(path) {
            return Err("the path of the content is none below the agent's root".to_owned());
        }
        let length = u16::try_from(path.len()).map_err(|_| "the path is too long".to_owned())?;
        let bytes = [&length.to_le_bytes(), path, manifest].concat();
        let told = |error: io::Error| format!("cannot write below {}: {error}", folder.display());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(told)?;
        let file = folder.join(file_name(&root));
        if !file.exists() {
            make_room(folder).map_err(told)?;
        }
        private_file::replace(&file, &bytes).map_err(told)?;
        self.recent.lock().retain(|(known, _)| *known != root);
        Ok(())
    }

    /// Returns the content `root`; `None` if it is not served.
    pub fn find(&self, root: &Root) -> Option<Arc<Holding>> {
        if let Some(holding) = self.in_memory(root) {
            return Some(holding);
        }
        let _reading = self.reading.lock();
        // Another thread may have read it meanwhile.
        if let Some(holding) = self.in_memory(root) {
            return Some(holding);
        }
        let holding = Arc::new(read(&self.folder.as_ref()?.join(file_name(root)), root)?);
        let mut recent = self.recent.lock();
        recent.push_front((*root, Arc::clone(&holding)));
        recent.truncate(IN_MEMORY);
        Some(holding)
    }

    fn in_memory(&self, root: &Root) -> Option<Arc<Holding>> {
        let mut recent = self.recent.lock();
        let at = recent.iter().position(|(known, _)| known == root)?;
        let found = recent.remove(at)?;
        let holding = Arc::clone(&found.1);
        recent.push_front(found);
        Some(holding)
    }
}

impl Holding {
    /// Returns the path of a file below the agent's root, and the length that it must have; `None`
    /// if the content has no such file.
    pub fn file(&self, number: u32) -> Option<(Vec<u8>, u64)> {
        let file = self.manifest.files.get(usize::try_from(number).ok()?)?;
        Some((self.path_of(&file.path), file.layout.length))
    }

    /// Returns block `block` of the file `number`; `None` if the content has no such block.
    pub fn block(&self, number: u32, block: u64) -> Option<HeldBlock> {
        let file = self.manifest.files.get(usize::try_from(number).ok()?)?;
        let digest = *file.digests.get(usize::try_from(block).ok()?)?;
        Some(HeldBlock {
            path: self.path_of(&file.path),
            offset: file.layout.offset(block),
            length: file.layout.block_length(block),
            digest,
        })
    }

    fn path_of(&self, below: &[u8]) -> Vec<u8> {
        match below {
            b"" => self.path.clone(),
            below => [&self.path, below].join(&b'/'),
        }
    }
}

/// Reads the file of a content; `None` if it is missing or damaged.
fn read(path: &Path, root: &Root) -> Option<Holding> {
    let longest = (PREFIX + PATH_MAX + NAME_MANIFEST_MAX) as u64;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(longest).read_to_end(&mut bytes).ok()?;
    let (length, rest) = bytes.split_first_chunk::<PREFIX>()?;
    let (path, manifest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    if content_digest(manifest) != *root || !is_below_root(path) {
        return None;
    }
    Some(Holding { path: path.to_vec(), manifest: NameManifest::parse(manifest).ok()? })
}

/// Removes the oldest contents if there is no room for another one.
fn make_room(folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A file may be gone by now.
        let modified = entry.metadata().and_then(|stat| stat.modified());
        files.extend(modified.ok().map(|modified| (modified, entry.path())));
    }
    files.sort();
    let surplus = (files.len() + 1).saturating_sub(HOLDINGS_MAX);
    files[..surplus].iter().try_for_each(|(_, path)| fs::remove_file(path))
}

fn is_below_root(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
    path.len() < PATH_MAX && path.split(|byte| *byte == b'/').all(is_name)
}

/// Returns the name of the file of a content.
fn file_name(root: &Root) -> String {
    let digest: String = root.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{digest}.held")
}

#[cfg(test)]
mod tests {
    use garland_core::plan::Layout;
    use garland_protocol::NamedFile;

    use super::*;

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn scratch(name: &str) -> Scratch {
        let name = format!("garland-holdings-{}-{name}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }

    fn manifest(content: &[u8]) -> NameManifest {
        let layout = Layout::fitting(content.len() as u64);
        let digests = vec![content_digest(content)];
        let file =
            NamedFile { path: b"a/b".to_vec(), mode: 0o644, modified: (1, 0), layout, digests };
        NameManifest { base: b"model".to_vec(), is_tree: true, files: vec![file] }
    }

    #[test]
    fn only_registered_contents_and_their_own_blocks_are_found() {
        let scratch = scratch("found");
        let (bytes, content) = manifest(b"content").encode().unwrap();
        let holdings = Holdings::open(Some(scratch.0.clone()));
        assert!(holdings.find(&content.root).is_none());
        holdings.register(content.root, &bytes, b"data/model").unwrap();
        // Those of an agent that was started again are found, too.
        for holdings in [&holdings, &Holdings::open(Some(scratch.0.clone()))] {
            let found = holdings.find(&content.root).unwrap();
            assert_eq!(found.file(0), Some((b"data/model/a/b".to_vec(), 7)));
            let block = found.block(0, 0).unwrap();
            assert_eq!((block.offset, block.length), (0, 7));
            assert_eq!(block.digest, content_digest(b"content"));
            assert_eq!((found.file(1), found.block(0, 1), found.block(1, 0)), (None, None, None));
        }
    }

    #[test]
    fn a_path_that_leads_elsewhere_or_another_manifest_is_refused() {
        let scratch = scratch("refused");
        let (bytes, content) = manifest(b"content").encode().unwrap();
        let holdings = Holdings::open(Some(scratch.0.clone()));
        for path in [&b""[..], b"/etc", b"a/../../etc", b"a//b", b"a\0b"] {
            assert!(holdings.register(content.root, &bytes, path).is_err(), "{path:?}");
        }
        assert!(holdings.register([7; 32], &bytes, b"model").is_err());
        assert!(holdings.register(content_digest(b"no"), b"no", b"model").is_err());
        assert!(holdings.find(&content.root).is_none());
    }

    #[test]
    fn a_damaged_file_serves_nothing() {
        let scratch = scratch("damaged");
        let (bytes, content) = manifest(b"content").encode().unwrap();
        let holdings = Holdings::open(Some(scratch.0.clone()));
        holdings.register(content.root, &bytes, b"model").unwrap();
        let file = scratch.0.join(file_name(&content.root));
        let whole = fs::read(&file).unwrap();
        for length in 0..whole.len() {
            fs::write(&file, &whole[..length]).unwrap();
            assert!(holdings.find(&content.root).is_none(), "{length} bytes");
        }
    }
}
