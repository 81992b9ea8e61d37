//! Names for content (`garland publish`): what a name stands for, its holders, and the messages
//! about names.
//!
//! A record is signed with a key that is derived from the controller's private key. Agents and
//! nodes have the public key only: an agent that keeps names can withhold a name, and cannot change
//! what it stands for.

use std::cmp::Ordering;
use std::collections::HashMap;

use garland_core::plan::{BLOCKS_MAX, Layout};
use garland_core::printable;
use garland_core::tree::{self, DEPTH_MAX, is_name};
use serde::{Deserialize, Serialize};

use crate::bounds::{self, ensure, within};
use crate::copy::content_digest;
use crate::names::record_key::{self, RecordKey, Signature};
use crate::wire::Secret;
use crate::wire::{KeyChallenge, ShownKey};

/// The maximum length of a name in bytes.
const NAME_MAX: usize = 128;

/// The maximum number of names of a list, those that have ended included.
pub const NAMES_MAX: usize = 10_000;

/// The maximum number of bytes of memory that the entries of a list take in the head.
pub const NAMES_MEMORY_MAX: usize = 32 << 20;

/// How far the number of a record may be ahead of the clock of the agent that is to keep it, in
/// nanoseconds: a day.
pub const RECORD_AHEAD_MAX_NS: u64 = 24 * 3600 * 1_000_000_000;

/// The permission bits that files of a name may have: whoever publishes a file makes nobody run a
/// program with the rights of its owner.
pub const NAMED_MODE: u32 = 0o777;

/// The maximum number of holders of a name that are recorded.
pub const HOLDERS_MAX: usize = 64;

/// The number of the first holders of a name that a full list keeps: those that published it are
/// among them. The others make way for those that come later.
const HOLDERS_KEPT: usize = HOLDERS_MAX / 2;

/// The maximum number of sources of a name.
const SOURCES_MAX: usize = 4;

/// The maximum number of bytes of memory that the sources of a name take. Each of them fits.
const SOURCES_MEMORY_MAX: usize = 1 << 10;

/// The maximum length of a holder's path in bytes: all holders of a name fit into a message.
const PATH_MAX: usize = 640;

/// The maximum length of the name of a holder in bytes, unless it is an address.
const HOLDER_NAME_MAX: usize = 260;

/// The maximum number of files of a manifest: each takes memory, however few bytes it has in there.
pub const NAMED_FILES_MAX: usize = 250_000;

/// The maximum number of names of a file's path: a copy has the published directory above them.
const NAMES_OF_PATH_MAX: usize = DEPTH_MAX - 1;

/// The maximum number of directories of a manifest, which the paths of its files imply: a copy
/// makes each of them, however few bytes they have in there.
const NAMED_FOLDERS_MAX: usize = NAMED_FILES_MAX;

/// The maximum number of bytes of a path that a message shows.
const SHOWN_MAX: usize = 80;

/// The number of nanoseconds of a second. System calls take numbers beyond it for orders, such as
/// UTIME_NOW.
const SECOND_NS: u32 = 1_000_000_000;

/// The maximum number of seconds between 1970 and a file's time in a manifest: 34,000 years. Later
/// times can be added to. Copies have times that file systems keep
/// ([`NameManifest::with_kept_times`]).
const SECONDS_MAX: i64 = 1 << 40;

/// The earliest time of a copied file in seconds since 1970, in 1901: file systems keep none
/// before.
const FIRST_SECOND: i64 = i32::MIN as i64;

/// The maximum number of bytes of a manifest in one message.
pub const MANIFEST_PIECE_MAX: usize = 60_000;

/// The maximum length of an encoded manifest in bytes: that of a file of 2 TiB, or of 100,000 small
/// ones.
pub const NAME_MANIFEST_MAX: usize = 24 << 20;

/// The time after which a node that fetches a content counts as gone, unless it says that it goes
/// on, in nanoseconds.
pub const LEASE_NS: u64 = 15_000_000_000;

/// A name, and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRecord {
    name: String,
    number: u64,
    content: Option<NamedContent>,
    sources: Vec<NameHolder>,
    /// The Ed25519 signature of the rest, in two halves.
    signature: Signature,
}

/// The content that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedContent {
    /// The digest of the encoded manifest, which has the digests of all blocks.
    pub root: [u8; 32],
    /// The length of all files in bytes.
    pub length: u64,
    /// The number of files.
    pub files: u32,
}

/// A place where the content of a name lies. What is read there is verified.
///
/// A node says of itself that it is one, and is asked by its name only. Hosts and objects are the
/// sources of a record: where a head reads by itself, nobody but the controller says so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NameHolder {
    /// The node's name, the name of a head's host, or the address of an object.
    pub node: String,
    /// What the holder is.
    pub kind: HolderKind,
    /// The path of the file or directory below the root of the node's agent, without a slash at the
    /// beginning (raw bytes); empty for an object.
    pub path: Vec<u8>,
}

/// The kinds of holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HolderKind {
    /// A host on which commands run, which has no agent.
    Head,
    /// A node with an agent.
    Node,
    /// The object or URL that was published: it is read only if no other holder answers.
    Origin,
}

/// A record, and the nodes that hold its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameEntry {
    /// The record.
    pub record: NameRecord,
    /// The nodes, at most [`HOLDERS_MAX`]. They are not signed.
    pub holders: Vec<NameHolder>,
}

/// The files of a name, with the digest of each block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameManifest {
    /// The name of the published file or directory (raw bytes).
    pub base: Vec<u8>,
    /// Whether a directory was published.
    pub is_tree: bool,
    /// The files, ordered by their paths ([`NamedFile::path_order`]); exactly one if no directory
    /// was published. None is a directory of another one.
    pub files: Vec<NamedFile>,
}

/// A file of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    /// The path below the published directory (raw bytes); empty if a file was published.
    pub path: Vec<u8>,
    /// The permission bits.
    pub mode: u32,
    /// The modification time: seconds and nanoseconds since the start of 1970.
    pub modified: (i64, u32),
    /// The length, and the division into blocks.
    pub layout: Layout,
    /// The digest of each block.
    pub digests: Vec<[u8; 32]>,
}

/// An order about names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NamesOrder {
    /// Report the entry of this name, or all entries. Answered by `Entry` for each, and `End`.
    Find(Option<String>),
    /// Report the manifest of this name. Answered by `Piece`, or by `End` with the error.
    Manifest(String),
    /// A piece of what the next `Keep`, `Register` or `Members` needs, and whether more follow.
    Piece(Vec<u8>, bool),
    /// Keep this entry in place of any older one. Unless the manifest of its root is here already,
    /// it was sent before. A record that this key did not make does not count. Answered by `Kept`,
    /// or by `End` with the error.
    Keep(Box<NameEntry>, RecordKey),
    /// Make the manifest of the file or directory with this path (raw bytes). Answered by `Reading`
    /// while that takes, `Path` and `Piece`, or by `End` with the error.
    Digest(Vec<u8>),
    /// Report where a copy to `path` has put the file or directory `base`. Answered by `Path`, or
    /// by `End` with the error.
    Locate {
        /// The destination as the user wrote it (raw bytes).
        path: Vec<u8>,
        /// The name of the file or directory (raw bytes).
        base: Vec<u8>,
        /// Whether it is a directory.
        is_tree: bool,
    },
    /// Return the public key with which the node itself reads names and contents, another one than
    /// before if `fresh`. Answered by `Key` and `End`. The private key never leaves the node; the
    /// answer shows that the agent has it.
    MemberKey {
        /// Whether a new key is made.
        fresh: bool,
        /// Random bytes, for which alone the answer counts.
        challenge: KeyChallenge,
    },
    /// Keep the list of members that was sent before in pieces ([`Roster`](crate::names::Roster)),
    /// by which the agent recognises members, and its node reads names and contents. Sessions of
    /// keys that are no longer in it end. Answered by `End`.
    Members,
    /// Serve the content of this record, whose manifest was sent before, to members, from this
    /// path. A record without content says that its name has ended: what is served for no other
    /// name is not served any more. Answered by `End`.
    Register {
        /// The record, which has the digest of the manifest.
        record: Box<NameRecord>,
        /// The path below the agent's root, without a slash at the beginning (raw bytes).
        path: Vec<u8>,
    },
    /// Record that this node has the content of the name, if it stands for that still: its root.
    /// Other holders than nodes are refused: those are in the record that a controller signs.
    /// Answered by `End`.
    Hold(String, [u8; 32], NameHolder),
    /// Note that this node fetches the content of the name, with this root, to this place; again
    /// before its lease of [`LEASE_NS`] ends. Answered by an `Entry` with those that began before
    /// as holders, and `End`.
    Fetch(String, [u8; 32], NameHolder),
}

/// An agent's answer about names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NamesEvent {
    /// An entry.
    Entry(Box<NameEntry>),
    /// The path of a file or directory below the agent's root, as in [`NameHolder::path`].
    Path(Vec<u8>),
    /// A piece of a manifest, and whether more follow.
    Piece(Vec<u8>, bool),
    /// The agent has read more of what it makes a manifest of, since it last said so.
    Reading,
    /// The public key with which the node reads names and contents.
    Key(ShownKey),
    /// The record of the name that is valid at this agent after `Keep`: the one that was sent, or a
    /// newer one.
    Kept(Box<NameRecord>),
    /// The order was executed, or why it was not.
    End(#[serde(deserialize_with = "bounds::answer")] Result<(), String>),
}

impl NameRecord {
    /// Creates the record of `name` for `content`; `None` ends the name. Of two records of a name
    /// the newer one is valid ([`is_newer_than`](Self::is_newer_than)). `key` is the private key of
    /// the controller.
    #[must_use]
    pub fn new(name: &str, number: u64, content: Option<NamedContent>, key: &Secret) -> Self {
        let unsigned = Self {
            name: name.to_owned(),
            number,
            content,
            sources: Vec::new(),
            signature: [[0; 32]; 2],
        };
        unsigned.signed_by(key)
    }

    /// Returns this record with these sources, of which the last ones count if there are too many:
    /// objects, and hosts without an agent. Without content it has none.
    #[must_use]
    pub fn with_sources(self, sources: &[NameHolder], key: &Secret) -> Self {
        let mut memory = 0;
        let fits = |source: &&NameHolder| {
            memory += source.memory();
            memory <= SOURCES_MEMORY_MAX
        };
        let wanted = if self.content.is_some() { sources } else { &[] };
        let fitting = wanted.iter().rev().take(SOURCES_MAX).take_while(fits).count();
        let sources = wanted[wanted.len() - fitting..].to_vec();
        Self { sources, ..self }.signed_by(key)
    }

    fn signed_by(self, key: &Secret) -> Self {
        let signature = record_key::sign(key, &self.signed());
        Self { signature, ..self }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of the record: the nanoseconds of the wall clock at which it was made, or
    /// one more than that of the record before it, if that is higher.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of the record that follows `old`, the newest one of a name, if there is
    /// one, at the time `wall_ns` of the wall clock.
    #[must_use]
    pub fn number_after(old: Option<&Self>, wall_ns: u64) -> u64 {
        old.map_or(0, |old| old.number.saturating_add(1)).max(wall_ns)
    }

    /// Returns whether this record is valid and `other`, which has the same name, is not any more.
    /// All agents and heads decide alike, also about two records with one number.
    #[must_use]
    pub fn is_newer_than(&self, other: &Self) -> bool {
        self.rank() > other.rank()
    }

    /// Returns what orders the records of a name.
    fn rank(&self) -> impl Ord {
        let content = self.content.map(|it| (it.root, it.length, it.files));
        (self.number, content.is_none(), content, &self.sources)
    }

    /// Returns what the name stands for; `None` if it has ended.
    #[must_use]
    pub fn content(&self) -> Option<NamedContent> {
        self.content
    }

    /// Returns the objects and the hosts without an agent that have the content.
    #[must_use]
    pub fn sources(&self) -> &[NameHolder] {
        &self.sources
    }

    /// Returns whether the controller with this key made the record.
    #[must_use]
    pub fn is_signed_by(&self, key: &RecordKey) -> bool {
        key.verifies(&self.signed(), &self.signature)
    }

    /// Returns what the signature covers.
    fn signed(&self) -> Vec<u8> {
        let content = self.content.map(|it| (it.root, it.length, it.files));
        let (root, length, files) = content.unwrap_or_default();
        let name_length = self.name.len() as u64;
        // All parts before the name have a fixed length.
        [
            &self.number.to_le_bytes()[..],
            &[u8::from(content.is_some())],
            &root,
            &length.to_le_bytes(),
            &files.to_le_bytes(),
            &name_length.to_le_bytes(),
            self.name.as_bytes(),
            &encoded(&self.sources),
        ]
        .concat()
    }

    fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        within("sources", self.sources.len(), 0..=SOURCES_MAX)?;
        let is_short = self.sources_memory() <= SOURCES_MEMORY_MAX;
        ensure(is_short, || "the sources of a name are too long")?;
        let is_none = self.sources.iter().any(|source| source.kind == HolderKind::Node);
        ensure(!is_none, || "a node is a source of a name")?;
        self.sources.iter().try_for_each(NameHolder::check)
    }

    fn sources_memory(&self) -> usize {
        self.sources.iter().map(NameHolder::memory).sum()
    }
}

impl NameHolder {
    /// Checks that the values from the wire or a file are within limits.
    ///
    /// # Errors
    /// When one of them is not.
    pub fn check(&self) -> Result<(), String> {
        let is_address = self.kind == HolderKind::Origin;
        let longest = if is_address { PATH_MAX } else { HOLDER_NAME_MAX };
        within("bytes of a holder's path", self.path.len(), 0..=PATH_MAX)?;
        within("bytes of a holder's name or address", self.node.len(), 1..=longest)?;
        let is_sound = !self.node.contains(char::is_control);
        ensure(is_sound, || "the name of a holder has characters that cannot be shown")
    }
}

impl NameHolder {
    /// Returns the number of bytes of memory that the holder takes.
    fn memory(&self) -> usize {
        size_of::<Self>() + self.node.len() + self.path.len()
    }
}

impl NameEntry {
    /// Returns the entry's bytes, which [`parse`](Self::parse) reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encoded(self)
    }

    /// Parses an entry; `None` if the bytes are none, or a value is out of bounds.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes::<Self>(bytes).ok().filter(|entry| entry.check().is_ok())
    }

    /// Checks that the values from the wire or a file are within limits.
    ///
    /// # Errors
    /// Names the value that is out of bounds.
    pub fn check(&self) -> Result<(), String> {
        self.record.check()?;
        within("holders", self.holders.len(), 0..=HOLDERS_MAX)?;
        let are_nodes = self.holders.iter().all(|holder| holder.kind == HolderKind::Node);
        ensure(are_nodes, || "a holder is no node, and its name is not signed")?;
        self.holders.iter().try_for_each(NameHolder::check)
    }

    /// Returns all places where the content lies: the nodes, then the sources of the record.
    pub fn places(&self) -> impl Iterator<Item = &NameHolder> {
        self.holders.iter().chain(&self.record.sources)
    }

    /// Returns the number of bytes of memory that the entry takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let holders = self.holders.iter().map(NameHolder::memory);
        let record = self.record.name.len() + self.record.sources_memory();
        size_of::<Self>() + record + holders.sum::<usize>()
    }

    /// Removes the last holders until all of them take at most `room` bytes of memory. Returns how
    /// much the others take.
    pub fn cut(&mut self, room: usize) -> usize {
        let mut taken = 0;
        let fits = |holder: &NameHolder| {
            taken += holder.memory();
            taken <= room
        };
        let fitting = self.holders.iter().map(fits).take_while(|fits| *fits).count();
        self.holders.truncate(fitting);
        self.holders.iter().map(NameHolder::memory).sum()
    }

    /// Adds a node in place of one with the same name, unless its name or path is too long. If the
    /// list is full, one that is not `known` makes way for it, which an agent may have invented, or
    /// else the oldest one but those that came first.
    pub fn add(&mut self, holder: NameHolder, known: impl Fn(&str) -> bool) {
        self.holders.retain(|it| it.node != holder.node);
        if holder.check().is_err() {
            return;
        }
        if self.holders.len() >= HOLDERS_MAX {
            let unknown = self.holders.iter().rposition(|it| !known(&it.node));
            self.holders.remove(unknown.unwrap_or(HOLDERS_KEPT));
        }
        self.holders.push(holder);
    }
}

/// Checks that `name` is one that content can have.
///
/// # Errors
/// When it is empty, too long, or has a character other than letters, digits and `._:@+-/`, begins
/// with a `-`, or has a part between slashes that is empty, `.` or `..`.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@+-/".contains(&byte);
    let is_sound = (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_usual);
    ensure(is_sound && !name.starts_with('-'), || {
        format!(
            "`{}` cannot be the name of content: use 1 to {NAME_MAX} letters, digits and ._:@+-/",
            name.escape_debug()
        )
    })?;
    ensure(name.split('/').all(|part| is_name(part.as_bytes())), || {
        format!("`{name}` cannot be the name of content: a part between slashes is empty, . or ..")
    })
}

impl NameManifest {
    /// Parses an encoded manifest, and checks its values. Modes are reduced to [`NAMED_MODE`].
    ///
    /// # Errors
    /// When the bytes are no manifest, or a value is out of bounds.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        within("bytes of a manifest", bytes.len(), 0..=NAME_MANIFEST_MAX)?;
        let damaged = |_| "the manifest is damaged".to_owned();
        // Before memory is taken for so many.
        let (prefix, _) = postcard::take_from_bytes::<Prefix>(bytes).map_err(damaged)?;
        within("files of a manifest", prefix.files, 0..=NAMED_FILES_MAX)?;
        let mut manifest: Self = postcard::from_bytes(bytes).map_err(damaged)?;
        manifest.check()?;
        manifest.files.iter_mut().for_each(|file| file.mode &= NAMED_MODE);
        Ok(manifest)
    }

    /// Checks that nothing in the manifest exceeds the limits of copies, or leads elsewhere.
    fn check(&self) -> Result<(), String> {
        let is_named = is_name(&self.base) && (self.is_tree || self.files.len() == 1);
        ensure(is_named, || "the manifest has no name, or not one file")?;
        within("files of a manifest", self.files.len(), 0..=NAMED_FILES_MAX)?;
        self.files.iter().try_for_each(|file| file.check(self.is_tree))?;
        for pair in self.files.windows(2) {
            let [file, next] = pair else { continue };
            next.check_after(file)?;
        }
        within("directories of a manifest", self.folders(), 0..=NAMED_FOLDERS_MAX)
    }

    /// Returns the number of directories below the published one, if the files are in order.
    fn folders(&self) -> usize {
        let mut above: &[u8] = b"";
        let mut folders = 0;
        for file in &self.files {
            let own = file.folder();
            let open = names_of(above).zip(names_of(own));
            let open = open.take_while(|(open, name)| open == name).count();
            folders += names_of(own).count() - open;
            above = own;
        }
        folders
    }

    /// Returns the encoded manifest, and the content that it describes.
    ///
    /// # Errors
    /// When it is too long, or [`parse`](Self::parse) would refuse it.
    pub fn encode(&self) -> Result<(Vec<u8>, NamedContent), String> {
        self.check()?;
        let bytes = encoded(self);
        ensure(bytes.len() <= NAME_MANIFEST_MAX, || {
            format!("its manifest would have {} bytes: publish parts of it", bytes.len())
        })?;
        let root = content_digest(&bytes);
        let files = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        Ok((bytes, NamedContent { root, length: self.length(), files }))
    }

    /// Returns the length of all files in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.files.iter().map(|file| file.layout.length).sum()
    }

    /// Returns whether both have the same files with the same contents. Names of the whole, modes
    /// and times may differ.
    #[must_use]
    pub fn has_content_of(&self, other: &Self) -> bool {
        let same = |(one, two): (&NamedFile, &NamedFile)| {
            (&one.path, &one.layout, &one.digests) == (&two.path, &two.layout, &two.digests)
        };
        self.is_tree == other.is_tree
            && self.files.len() == other.files.len()
            && self.files.iter().zip(&other.files).all(same)
    }

    /// Returns this manifest as that of the record with this number, whose times file systems keep:
    /// a day after the record at most, and from 1901 on. Whoever tells of a file may tell any time.
    /// One that a file system does not keep makes each copy fail, and leaves no later one to the
    /// next content.
    #[must_use]
    pub fn with_kept_times(mut self, number: u64) -> Self {
        let latest_ns = number.saturating_add(RECORD_AHEAD_MAX_NS);
        let second_ns = u64::from(SECOND_NS);
        let seconds = i64::try_from(latest_ns / second_ns).unwrap_or(SECONDS_MAX);
        let latest = (seconds, u32::try_from(latest_ns % second_ns).unwrap_or(0));
        for file in &mut self.files {
            file.modified = file.modified.clamp((FIRST_SECOND, 0), latest);
        }
        self
    }

    /// Returns this manifest as the next one of a name that stood for `old`. Copies compare files
    /// by length and time: a file with the content that it had keeps its time, and one with other
    /// content has a later one, so that no earlier content of the file had the time, however often
    /// the name was published.
    #[must_use]
    pub fn following(mut self, old: &Self) -> Self {
        let known: HashMap<&[u8], &NamedFile> =
            old.files.iter().map(|file| (file.path.as_slice(), file)).collect();
        for file in &mut self.files {
            let Some(old) = known.get(file.path.as_slice()) else { continue };
            let (seconds, nanoseconds) = old.modified;
            if (&old.layout, &old.digests) == (&file.layout, &file.digests) {
                file.modified = old.modified;
            } else if file.modified <= old.modified {
                // It was put back with its old time, or both are times of objects, whole seconds.
                let next = (seconds, nanoseconds + 1);
                let is_time = next.1 < SECOND_NS;
                file.modified = if is_time { next } else { (seconds + 1, 0) };
            }
        }
        self
    }

    /// Returns whether the files of two manifests with the same content have the same modes.
    #[must_use]
    pub fn has_modes_of(&self, other: &Self) -> bool {
        self.files.iter().zip(&other.files).all(|(one, two)| one.mode == two.mode)
    }
}

impl NamedFile {
    /// Returns the order of two files of a manifest: that of the first names in which their paths
    /// differ. So the files of a directory follow each other.
    #[must_use]
    pub fn path_order(&self, other: &Self) -> Ordering {
        let [one, other] = [self, other].map(|file| file.path.split(|byte| *byte == b'/'));
        one.cmp(other)
    }

    /// Returns the path of the directory in which the file is; empty for the published one.
    fn folder(&self) -> &[u8] {
        let end = self.path.iter().rposition(|byte| *byte == b'/');
        &self.path[..end.unwrap_or(0)]
    }

    /// Checks that the file may follow `last` in a manifest.
    fn check_after(&self, last: &Self) -> Result<(), String> {
        // What lies in a directory follows it at once.
        let below = self.path.strip_prefix(last.path.as_slice());
        let is_directory = below.is_some_and(|below| below.starts_with(b"/"));
        let shown = || beginning_of(&self.path);
        match last.path_order(self) {
            Ordering::Less if is_directory => {
                Err(format!("the manifest has a file above `{}`", shown()))
            }
            Ordering::Less => Ok(()),
            Ordering::Equal => {
                Err(format!("the manifest has two files with the path `{}`", shown()))
            }
            Ordering::Greater => Err(format!("the manifest has `{}` out of order", shown())),
        }
    }

    fn check(&self, in_tree: bool) -> Result<(), String> {
        let Layout { length, block_size, .. } = self.layout;
        let layout = Layout::new(length, block_size).map_err(|error| error.to_string())?;
        within("blocks", layout.blocks(), 0..=BLOCKS_MAX)?;
        let is_sound = layout == self.layout && self.digests.len() as u64 == layout.blocks();
        ensure(is_sound, || "the manifest has not one digest for each block")?;
        let (seconds, nanoseconds) = self.modified;
        let is_time = (-SECONDS_MAX..SECONDS_MAX).contains(&seconds) && nanoseconds < SECOND_NS;
        ensure(is_time, || "the manifest has a time that is none")?;
        let path = &self.path;
        if !in_tree {
            return ensure(path.is_empty(), || "the manifest has a path for its only file");
        }
        let names = path.split(|byte| *byte == b'/');
        let is_short = path.len() <= tree::PATH_MAX && names.clone().count() <= NAMES_OF_PATH_MAX;
        let shown = || beginning_of(path);
        ensure(is_short, || {
            let bytes = tree::PATH_MAX;
            format!(
                "the path `{}` has more than {bytes} bytes or {NAMES_OF_PATH_MAX} names",
                shown()
            )
        })?;
        ensure(names.clone().all(is_name), || {
            format!("the path `{}` leads elsewhere, or has a name that is too long", shown())
        })
    }
}

/// What precedes the files in an encoded manifest.
#[derive(Deserialize)]
struct Prefix {
    _base: Vec<u8>,
    _is_tree: bool,
    /// The number of files.
    files: usize,
}

/// Returns the names of a path, of which an empty one has none.
fn names_of(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

/// Returns the beginning of a path for a message.
fn beginning_of(path: &[u8]) -> String {
    let beginning = &path[..path.len().min(SHOWN_MAX)];
    printable::name(beginning)
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("every value can be serialised")
}

#[cfg(test)]
mod tests;
