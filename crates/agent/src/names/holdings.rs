//! The contents that an agent serves: which content lies at which path of its node. Members and
//! heads name a content and a block of it, never a path: what nobody registered cannot be read.
//!
//! Each is one file with the path, the names that stand for the content, and the manifest; it is
//! named by the digest of the manifest. Nothing is remembered of the files themselves: each block
//! is hashed whenever it is served, so that it does not matter what lies at the path by then. When
//! all names have ended, the content is not served any more.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::printable;
use garland_protocol::copy::content_digest;
use garland_protocol::files::PIECE;
use garland_protocol::names::{NAME_MANIFEST_MAX, NameManifest, NameRecord, NamedFile, check_name};
use garland_sys::sync::Mutex;
use garland_sys::{clock, private_file};

/// The maximum number of contents that an agent serves. The oldest one goes for another.
const HOLDINGS_MAX: usize = 10_000;

/// The maximum memory in bytes of the manifests that are kept: two of the longest ones, or hundreds
/// of usual ones, so that who reads many contents does not have those of others read from the disk
/// again.
const IN_MEMORY_MAX: usize = 2 * NAME_MANIFEST_MAX;

/// The maximum number of manifests that are kept: each request looks through them.
const IN_MEMORY_COUNT: usize = 256;

/// The memory of a file of a manifest in bytes, besides its path and its digests: what the
/// allocator keeps with both is a guess.
const FILE_IN_MEMORY: usize = size_of::<NamedFile>() + 32;

/// The maximum length of a path in bytes.
const PATH_MAX: usize = 4096;

/// The maximum number of names of a content. One with more names does not end with them.
const NAMES_OF_CONTENT_MAX: usize = 64;

/// The maximum length of the names and numbers in a file in bytes.
const NAMES_LENGTH_MAX: usize = NAMES_OF_CONTENT_MAX * 160;

/// The length of the prefix of a file: the lengths of the path and of the names.
const PREFIX: usize = 4;

/// Stands for more names than a file has room for.
const MORE_NAMES: &str = "*";

/// For how long a content without names is served on to those who read it, after the last block, in
/// nanoseconds.
const IN_USE_NS: u64 = 15_000_000_000;

/// The maximum number of names whose ends are remembered. The oldest one goes for another.
const ENDED_MAX: usize = 4096;

/// The end of the names of the files.
const HELD: &str = "held";

/// The identity of a content: the digest of its encoded manifest.
type Root = [u8; 32];

/// The contents that an agent serves.
#[derive(Debug, Default)]
pub struct Holdings {
    /// The directory of their files; `None` if the agent has no state directory.
    folder: Option<PathBuf>,
    /// Those that were served last, the newest first: at most [`IN_MEMORY_MAX`], but at least one.
    recent: Mutex<VecDeque<Recent>>,
    /// Locked while a manifest is read: it may be long, and those in memory are served meanwhile.
    reading: Mutex<()>,
    /// Locked while files are changed.
    changing: Mutex<EndedNames>,
}

/// The names that have ended since this agent began, each with the number of the record that ended
/// it. A node that began to get a content before does not serve it afterwards.
#[derive(Debug, Default)]
struct EndedNames(VecDeque<HeldName>);

impl EndedNames {
    fn add(&mut self, record: &NameRecord) {
        let name = record.name();
        let known = self.0.iter().position(|ended| ended.name == name);
        let before = known.and_then(|at| self.0.remove(at)).map_or(0, |ended| ended.number);
        self.0.truncate(ENDED_MAX - 1);
        let number = before.max(record.number());
        self.0.push_front(HeldName { name: name.to_owned(), number });
    }

    /// Returns whether a record is older than the end of its name.
    fn contain(&self, record: &NameRecord) -> bool {
        let is_older =
            |ended: &HeldName| ended.name == record.name() && ended.number > record.number();
        self.0.iter().any(is_older)
    }
}

/// A content that is served now.
#[derive(Debug)]
struct Recent {
    root: Root,
    holding: Arc<Holding>,
    /// The time at which something of it was asked for, in monotonic nanoseconds.
    used_ns: u64,
    /// Whether its names have ended: it goes when nobody reads it any more.
    has_ended: bool,
}

/// A content that an agent serves.
#[derive(Debug)]
pub struct Holding {
    /// The path of the file or directory below the agent's root, without a slash at the beginning
    /// (raw bytes).
    path: Vec<u8>,
    manifest: NameManifest,
    /// The memory of the manifest in bytes.
    in_memory: usize,
}

/// What precedes the manifest in the file of a content.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    path: Vec<u8>,
    /// The names that stand for the content.
    names: Vec<HeldName>,
    /// Whether there are more names.
    has_more: bool,
}

/// A name, and the number of the record by which it stands for a content.
#[derive(Debug, PartialEq, Eq)]
struct HeldName {
    name: String,
    number: u64,
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
        Self { folder, ..Self::default() }
    }

    /// Serves the content of `record` with this encoded manifest from `path` from now on.
    ///
    /// # Errors
    /// When the record or its name has ended, it has no usual name, the manifest has another digest
    /// than that of the record or is none, the path is none below a root, or the file cannot be
    /// written.
    pub fn register(
        &self,
        record: &NameRecord,
        manifest: &[u8],
        path: &[u8],
    ) -> Result<(), String> {
        let folder = self.folder.as_ref().ok_or("it has no state directory for names")?;
        let root = record.content().ok_or("the record has no content")?.root;
        check_name(record.name())?;
        if content_digest(manifest) != root {
            return Err("the manifest of the content did not arrive".to_owned());
        }
        NameManifest::parse(manifest)?;
        if !is_below_root(path) {
            return Err("the path of the content is none below the agent's root".to_owned());
        }
        let told =
            |error: io::Error| format!("cannot write below {}: {error}", printable::path(folder));
        private_file::create_folder(folder).map_err(told)?;
        let file = folder.join(file_name(&root));
        let ended_names = self.changing.lock();
        if ended_names.contain(record) {
            return Err(format!("{} has ended meanwhile", record.name()));
        }
        let mut header = match open(&file).map_err(told)? {
            Some((header, _)) => header,
            None => {
                make_room(folder).map_err(told)?;
                Header::default()
            }
        };
        header.path = path.to_vec();
        header.add(record.name(), record.number());
        private_file::replace(&file, &header.with(manifest)).map_err(told)?;
        self.recent.lock().retain(|it| it.root != root);
        Ok(())
    }

    /// Ends the contents that are served for the name of `record`, which has ended, and for no
    /// other one. Those that somebody reads are served until nobody does.
    ///
    /// # Errors
    /// When a file can be neither read nor written.
    pub fn end(&self, record: &NameRecord) -> Result<(), String> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let told = |error: io::Error| format!("cannot change {}: {error}", printable::path(folder));
        let mut ended_names = self.changing.lock();
        ended_names.add(record);
        let files = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            files => files.map_err(told)?,
        };
        for entry in files {
            let file = entry.map_err(told)?.path();
            let Some(root) = root_of(&file) else { continue };
            let Some((mut header, mut rest)) = open(&file).map_err(told)? else { continue };
            if !header.end(record.name(), record.number()) {
                continue;
            }
            if header.is_needed() {
                let mut manifest = Vec::new();
                rest.read_to_end(&mut manifest).map_err(told)?;
                private_file::replace(&file, &header.with(&manifest)).map_err(told)?;
            } else {
                private_file::remove(&file).map_err(told)?;
                for known in self.recent.lock().iter_mut().filter(|it| it.root == root) {
                    known.has_ended = true;
                }
            }
        }
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
        recent.push_front(Recent {
            root: *root,
            holding: Arc::clone(&holding),
            used_ns: clock::now_ns(),
            has_ended: false,
        });
        let mut total = 0;
        let room = recent.iter().take(IN_MEMORY_COUNT).take_while(|it| {
            total += it.holding.in_memory;
            total <= IN_MEMORY_MAX
        });
        let kept = room.count().max(1);
        recent.truncate(kept);
        Some(holding)
    }

    fn in_memory(&self, root: &Root) -> Option<Arc<Holding>> {
        let asked_ns = clock::now_ns();
        let mut recent = self.recent.lock();
        recent.retain(|it| !it.has_ended || asked_ns.saturating_sub(it.used_ns) < IN_USE_NS);
        let at = recent.iter().position(|it| it.root == *root)?;
        let found = recent.remove(at)?;
        let holding = Arc::clone(&found.holding);
        recent.push_front(Recent { used_ns: asked_ns, ..found });
        Some(holding)
    }
}

impl Header {
    /// Notes that a name stands for the content by a record with this number.
    fn add(&mut self, name: &str, number: u64) {
        if let Some(known) = self.names.iter_mut().find(|known| known.name == name) {
            known.number = number.max(known.number);
        } else if self.names.len() < NAMES_OF_CONTENT_MAX {
            self.names.push(HeldName { name: name.to_owned(), number });
        } else {
            self.has_more = true;
        }
    }

    /// Notes that a name ended by a record with this number. Returns whether it stood for the
    /// content.
    fn end(&mut self, name: &str, number: u64) -> bool {
        let before = self.names.len();
        self.names.retain(|known| known.name != name || known.number > number);
        self.names.len() < before
    }

    /// Returns whether a name stands for the content.
    fn is_needed(&self) -> bool {
        self.has_more || !self.names.is_empty()
    }

    /// Returns the file of a content with this manifest.
    fn with(&self, manifest: &[u8]) -> Vec<u8> {
        let names = self.names.iter().map(|HeldName { name, number }| format!("{name} {number}\n"));
        let mut names: String = names.collect();
        if self.has_more {
            names.push_str(MORE_NAMES);
        }
        // Both are bounded.
        let length = |bytes: &[u8]| (bytes.len() as u16).to_le_bytes();
        let prefix = [length(&self.path), length(names.as_bytes())].concat();
        [&prefix, self.path.as_slice(), names.as_bytes(), manifest].concat()
    }

    /// Reads what precedes the manifest; `None` if it is damaged.
    fn read(file: &mut impl Read) -> Option<Self> {
        let mut lengths = [0; PREFIX];
        file.read_exact(&mut lengths).ok()?;
        let [path_length, names_length] =
            [0, 2].map(|at| usize::from(u16::from_le_bytes([lengths[at], lengths[at + 1]])));
        if names_length > NAMES_LENGTH_MAX {
            return None;
        }
        let mut path = vec![0; path_length];
        file.read_exact(&mut path).ok()?;
        let mut names = vec![0; names_length];
        file.read_exact(&mut names).ok()?;
        let names = String::from_utf8(names).ok()?;
        let mut header = Self { path, ..Self::default() };
        for line in names.lines() {
            match line.split_once(' ') {
                Some((name, number)) => {
                    let name = name.to_owned();
                    header.names.push(HeldName { name, number: number.parse().ok()? });
                }
                None => header.has_more = true,
            }
        }
        is_below_root(&header.path).then_some(header)
    }
}

/// Opens the file of a content behind its header; `None` if there is none, or it is damaged.
fn open(path: &Path) -> io::Result<Option<(Header, File)>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    Ok(Header::read(&mut file).map(|header| (header, file)))
}

impl HeldBlock {
    /// Returns the number of pieces in which it is served.
    pub fn pieces(&self) -> u32 {
        self.length.div_ceil(PIECE)
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
    let (header, file) = open(path).ok()??;
    let mut manifest = Vec::new();
    file.take(NAME_MANIFEST_MAX as u64).read_to_end(&mut manifest).ok()?;
    if content_digest(&manifest) != *root {
        return None;
    }
    let manifest = NameManifest::parse(&manifest).ok()?;
    let of_file =
        |file: &NamedFile| FILE_IN_MEMORY + file.path.len() + size_of_val(file.digests.as_slice());
    let of_files: usize = manifest.files.iter().map(of_file).sum();
    let in_memory = size_of::<Holding>() + header.path.len() + of_files;
    Some(Holding { path: header.path, manifest, in_memory })
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
    format!("{digest}.{HELD}")
}

/// Returns the content of a file; `None` if it has another name.
fn root_of(path: &Path) -> Option<Root> {
    let digest = path.file_stem()?.to_str()?;
    let mut root = Root::default();
    for (at, byte) in root.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digest.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    path.ends_with(file_name(&root)).then_some(root)
}

#[cfg(test)]
mod tests {
    use garland_core::plan::Layout;
    use garland_protocol::names::NamedContent;
    use garland_protocol::wire::Secret;

    use super::*;

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn new_scratch(name: &str) -> Scratch {
        let name = format!("garland-holdings-{}-{name}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }

    fn manifest_of(content: &[u8]) -> NameManifest {
        let layout = Layout::fitting(content.len() as u64);
        let digests = vec![content_digest(content)];
        let file =
            NamedFile { path: b"a/b".to_vec(), mode: 0o644, modified: (1, 0), layout, digests };
        NameManifest { base: b"model".to_vec(), is_tree: true, files: vec![file] }
    }

    fn record(name: &str, number: u64, content: Option<NamedContent>) -> NameRecord {
        NameRecord::new(name, number, content, &Secret([1; 32]))
    }

    fn published(content: NamedContent) -> NameRecord {
        record("m", 5, Some(content))
    }

    #[test]
    fn only_registered_contents_and_their_own_blocks_are_found() {
        let scratch = new_scratch("found");
        let (bytes, content) = manifest_of(b"content").encode().unwrap();
        let holdings = Holdings::open(Some(scratch.0.clone()));
        assert!(holdings.find(&content.root).is_none());
        holdings.register(&published(content), &bytes, b"data/model").unwrap();
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
        let scratch = new_scratch("refused");
        let (bytes, content) = manifest_of(b"content").encode().unwrap();
        let holdings = Holdings::open(Some(scratch.0.clone()));
        for path in [&b""[..], b"/etc", b"a/../../etc", b"a//b", b"a\0b"] {
            assert!(holdings.register(&published(content), &bytes, path).is_err(), "{path:?}");
        }
        let other = |root| published(NamedContent { root, ..content });
        assert!(holdings.register(&other([7; 32]), &bytes, b"model").is_err());
        assert!(holdings.register(&other(content_digest(b"no")), b"no", b"model").is_err());
        assert!(holdings.register(&record("m", 5, None), &bytes, b"model").is_err());
        assert!(holdings.register(&record("a b", 5, Some(content)), &bytes, b"model").is_err());
        assert!(holdings.find(&content.root).is_none());
    }

    #[test]
    fn a_damaged_file_serves_nothing() {
        let scratch = new_scratch("damaged");
        let (bytes, content) = manifest_of(b"content").encode().unwrap();
        let holdings = Holdings::open(Some(scratch.0.clone()));
        holdings.register(&published(content), &bytes, b"model").unwrap();
        let file = scratch.0.join(file_name(&content.root));
        let whole = fs::read(&file).unwrap();
        for length in 0..whole.len() {
            fs::write(&file, &whole[..length]).unwrap();
            assert!(holdings.find(&content.root).is_none(), "{length} bytes");
        }
    }

    #[test]
    fn a_content_is_served_until_its_last_name_has_ended() {
        let scratch = new_scratch("ended");
        let (bytes, content) = manifest_of(b"content").encode().unwrap();
        let holdings = Holdings::open(Some(scratch.0.clone()));
        holdings.register(&published(content), &bytes, b"model").unwrap();
        holdings.register(&record("n", 7, Some(content)), &bytes, b"other").unwrap();
        let is_served = || Holdings::open(Some(scratch.0.clone())).find(&content.root).is_some();
        // An end from before the name was published, that of another name, and that of one of two.
        for (name, number) in [("m", 4), ("o", 9), ("m", 6), ("n", 6)] {
            holdings.end(&record(name, number, None)).unwrap();
            assert!(is_served(), "{name} {number}");
        }
        holdings.end(&record("n", 8, None)).unwrap();
        assert!(!is_served());
        // Who began to get it before the end.
        for late in [published(content), record("n", 7, Some(content))] {
            assert!(holdings.register(&late, &bytes, b"model").is_err());
        }
        holdings.register(&record("m", 9, Some(content)), &bytes, b"model").unwrap();
        assert!(is_served(), "it is published again");
    }

    #[test]
    fn an_end_is_remembered_before_the_content_is_served_and_few_are() {
        let scratch = new_scratch("ended-before");
        let (bytes, content) = manifest_of(b"content").encode().unwrap();
        let holdings = Holdings::open(Some(scratch.0.clone()));
        for number in [9, 4] {
            holdings.end(&record("m", number, None)).unwrap();
        }
        assert!(holdings.register(&record("m", 8, Some(content)), &bytes, b"model").is_err());
        assert!(holdings.find(&content.root).is_none());
        for number in 0..2 * ENDED_MAX {
            holdings.end(&record(&format!("n{number}"), 9, None)).unwrap();
        }
        assert_eq!(holdings.changing.lock().0.len(), ENDED_MAX);
    }

    #[test]
    fn who_reads_a_content_that_ends_is_served_to_the_end() {
        let scratch = new_scratch("in-use");
        let (bytes, content) = manifest_of(b"content").encode().unwrap();
        let holdings = Holdings::open(Some(scratch.0.clone()));
        holdings.register(&published(content), &bytes, b"model").unwrap();
        assert!(holdings.find(&content.root).is_some());
        holdings.end(&record("m", 6, None)).unwrap();
        assert!(holdings.find(&content.root).is_some(), "a block was asked for just now");
        holdings.recent.lock()[0].used_ns -= IN_USE_NS;
        assert!(holdings.find(&content.root).is_none());
    }

    #[test]
    fn as_many_manifests_are_in_memory_as_have_room() {
        let scratch = new_scratch("room");
        let holdings = Holdings::open(Some(scratch.0.clone()));
        let served = |number: u8, digests: usize| {
            let layout = Layout::new(digests as u64 * 4096, 4096).unwrap();
            let mut manifest = manifest_of(&[]);
            manifest.files[0].layout = layout;
            manifest.files[0].digests = vec![[number; 32]; digests];
            let (bytes, content) = manifest.encode().unwrap();
            holdings.register(&published(content), &bytes, b"model").unwrap();
            assert!(holdings.find(&content.root).is_some());
        };
        (0..100).for_each(|number| served(number, 10));
        assert_eq!(holdings.recent.lock().len(), 100);
        // A third of what is kept, each.
        (100..102).for_each(|number| served(number, IN_MEMORY_MAX / 32 / 3));
        assert_eq!(holdings.recent.lock().len(), 102);
        served(102, IN_MEMORY_MAX / 32 / 3);
        assert_eq!(holdings.recent.lock().len(), 2);
    }

    #[test]
    fn a_content_with_too_many_names_to_list_does_not_end() {
        let scratch = new_scratch("many");
        let (bytes, content) = manifest_of(b"content").encode().unwrap();
        let holdings = Holdings::open(Some(scratch.0.clone()));
        let name = |number: usize| format!("{}{number}", "n".repeat(120));
        for number in 0..=NAMES_OF_CONTENT_MAX {
            let published = record(&name(number), u64::MAX - 1, Some(content));
            holdings.register(&published, &bytes, b"model").unwrap();
        }
        for number in 0..=NAMES_OF_CONTENT_MAX {
            holdings.end(&record(&name(number), u64::MAX, None)).unwrap();
        }
        assert!(Holdings::open(Some(scratch.0.clone())).find(&content.root).is_some());
    }
}
