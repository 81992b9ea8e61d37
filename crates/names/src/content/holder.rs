//! Reads blocks from a place where the content of a name lies.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use garland_core::printable;
use garland_mount::{NodeFileError, NodeFiles, Reach, WantedBlock};
use garland_protocol::copy::content_digest;
use garland_protocol::names::{HolderKind, NameHolder, NamedFile};
use garland_remote::{Address, Object, elsewhere};
use garland_sys::signal::Interrupts;
use garland_sys::sync::{Condvar, Mutex};
use garland_sys::{clock, error, mounts, process};

use super::apart::{Apart, open_regular};
use super::limits::{ANSWER_MAX, BLOCK_MAX, CHECK_INTERVAL, SLOW_NODES, SLOW_ORIGIN};

/// The maximum number of files that a holder has open.
const OPEN: usize = 16;

/// Why a holder cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderFault {
    /// It cannot be reached or read; the reason.
    Unread(String),
    /// It has no such file any more, or its bytes are not those of the manifest; what differs.
    Differs(String),
    /// The bytes did not arrive at it yet.
    Later,
}

/// What a holder is to the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// It still fetches the content, and this copy follows it.
    Followed,
    /// It has the content, and is near.
    Near,
    /// It has the content.
    Whole,
    /// It has the content, and its wire passes the blocks of this copy on.
    Member,
    /// It still fetches the content.
    Arriving,
    /// It had the content, and did not tell that it still has it.
    Unseen,
}

/// A place where the content of a name lies.
pub struct Holder {
    /// The record of the holder.
    pub record: NameHolder,
    /// The content: the digest of its manifest.
    root: [u8; 32],
    access: Access,
    open: Mutex<BTreeMap<usize, Slot>>,
    /// Wakes threads that wait for a file which another one opens.
    opened: Condvar,
    /// The readers of files on FUSE file systems.
    apart: Apart,
    relation: Relation,
}

/// A file of a holder.
enum Slot {
    /// A thread opens it, which may take for ever.
    Opening,
    Open(Arc<OpenFile>),
}

enum Access {
    Here,
    Node(NodeFiles),
    /// An object or URL; the user's interrupts end waiting for it.
    Origin(Arc<Interrupts>),
    Elsewhere,
}

enum OpenFile {
    Here(File),
    /// On a file system of this machine which may keep whoever reads.
    Apart(Vec<u8>),
    Origin(Object),
}

impl Holder {
    /// Creates the holder of a record of the content `root`; `reach` connects to its node's agent.
    /// Nothing is contacted.
    pub fn new(
        record: NameHolder,
        root: [u8; 32],
        reach: Reach,
        relation: Relation,
        interrupts: &Arc<Interrupts>,
    ) -> Self {
        let access = match record.kind {
            HolderKind::Head if record.node == process::host_name() => Access::Here,
            HolderKind::Head => Access::Elsewhere,
            HolderKind::Node => Access::Node(NodeFiles::new(record.node.clone(), reach)),
            HolderKind::Origin => Access::Origin(Arc::clone(interrupts)),
        };
        Self {
            record,
            root,
            access,
            open: Mutex::default(),
            opened: Condvar::new(),
            apart: Apart::default(),
            relation,
        }
    }

    /// Whether it is a node, with a standing agent that reads for others.
    pub fn is_node(&self) -> bool {
        matches!(self.access, Access::Node(_))
    }

    /// Returns the relation of the copy to it.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// Changes the relation of the copy to it.
    pub fn with_relation(self, relation: Relation) -> Self {
        Self { relation, ..self }
    }

    /// Asks a node whether it has the first file of the content, and calls `then` with the answer,
    /// maybe never. Of others nothing is known.
    pub fn look(&self, then: impl FnOnce(bool) + Send + 'static) {
        if let Access::Node(node) = &self.access {
            node.look(self.root, 0, then);
        }
    }

    /// Returns the longest time in which it has to answer something. A node says before that it did
    /// not.
    pub fn patience(&self) -> Duration {
        match self.access {
            Access::Here | Access::Node(_) | Access::Elsewhere => ANSWER_MAX,
            // It may be far away; what it does not answer is noticed where it is read.
            Access::Origin(_) => BLOCK_MAX,
        }
    }

    /// Returns whether it is to be read from if the holders of the ranks before give so many bytes
    /// in a second, and readers wait for them.
    pub fn helps_at(&self, rate: u64) -> bool {
        match self.access {
            Access::Here | Access::Node(_) | Access::Elsewhere => rate < SLOW_NODES,
            Access::Origin(_) => rate < SLOW_ORIGIN,
        }
    }

    /// Returns whether it can be read from this machine.
    pub fn is_readable(&self) -> bool {
        !matches!(self.access, Access::Elsewhere)
    }

    /// Returns how much reading from it costs: nothing on this machine, more on a node that is far
    /// or whose wire others use, and most at the origin. What cannot be reached from here comes
    /// last.
    pub fn rank(&self) -> u8 {
        match self.access {
            Access::Here => 0,
            Access::Node(_) => 1 + self.relation as u8,
            Access::Origin(_) => 7,
            Access::Elsewhere => 8,
        }
    }

    /// Returns block `index` of `file`, which is the file `number` of the name, verified.
    pub fn read(
        &self,
        number: usize,
        file: &NamedFile,
        index: u64,
    ) -> Result<Vec<u8>, HolderFault> {
        let offset = file.layout.offset(index);
        let digest = file.digests.get(index as usize);
        let length = file.layout.block_length(index);
        let differs =
            || HolderFault::Differs(format!("{} differs in block {index}", self.shown(file)));
        if let (Access::Node(node), Some(digest)) = (&self.access, digest) {
            let arriving = matches!(self.relation, Relation::Followed | Relation::Arriving);
            // A manifest has fewer files.
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let wanted =
                WantedBlock { root: self.root, file: number, block: index, length, arriving };
            let bytes = node.read(&wanted).map_err(|error| match error {
                NodeFileError::Unreached(reason) => HolderFault::Unread(reason),
                NodeFileError::Refused(reason) => HolderFault::Differs(reason),
                NodeFileError::Differs => differs(),
                NodeFileError::Later => HolderFault::Later,
            })?;
            return if content_digest(&bytes) == *digest { Ok(bytes) } else { Err(differs()) };
        }
        let open = self.open(number, file)?;
        let mut bytes = vec![0; length as usize];
        let read = match &*open {
            OpenFile::Here(file) => {
                file.read_exact_at(&mut bytes, offset).map_err(|error| error::reason(&error))
            }
            OpenFile::Apart(path) => {
                let read = self.apart.read(path, offset, &mut bytes);
                read.map_err(|error| error::reason(&error))
            }
            OpenFile::Origin(object) => {
                object.fill(offset, &mut bytes).map_err(|trouble| trouble.message().to_owned())
            }
        };
        read.map_err(HolderFault::Unread)?;
        if Some(&content_digest(&bytes)) == digest { Ok(bytes) } else { Err(differs()) }
    }

    /// Returns the open file `number`. One thread opens it; nobody else waits longer than for an
    /// answer.
    fn open(&self, number: usize, file: &NamedFile) -> Result<Arc<OpenFile>, HolderFault> {
        let until_ns = clock::after(self.patience());
        let mut open = self.open.lock();
        loop {
            match open.get(&number) {
                Some(Slot::Open(open)) => return Ok(Arc::clone(open)),
                Some(Slot::Opening) if clock::until(until_ns).is_zero() => {
                    let seconds = self.patience().as_secs();
                    let why = format!("{} did not open within {seconds} s", self.shown(file));
                    return Err(HolderFault::Unread(why));
                }
                Some(Slot::Opening) => drop(self.opened.wait_for(&mut open, CHECK_INTERVAL)),
                None => break,
            }
        }
        open.insert(number, Slot::Opening);
        drop(open);
        let opened = self.open_alone(file).map(Arc::new);
        let mut open = self.open.lock();
        open.remove(&number);
        if let Ok(opened) = &opened {
            while open.len() >= OPEN {
                // Files are read in order.
                open.pop_first();
            }
            open.insert(number, Slot::Open(Arc::clone(opened)));
        }
        drop(open);
        self.opened.notify_all();
        opened
    }

    fn open_alone(&self, file: &NamedFile) -> Result<OpenFile, HolderFault> {
        let (opened, length) = match &self.access {
            Access::Elsewhere => {
                let host = &self.record.node;
                let why = format!("it is no node, but the host {host}: get it there");
                return Err(HolderFault::Unread(why));
            }
            Access::Here => {
                let told = |error| {
                    let why = error::reason(&error);
                    HolderFault::Differs(format!("cannot open {}: {why}", self.shown(file)))
                };
                let path = self.path(file);
                if mounts::is_fuse(&Path::new("/").join(OsStr::from_bytes(&path))) {
                    let length = self.apart.length(&path).map_err(told)?;
                    (OpenFile::Apart(path), length)
                } else {
                    let file = open_regular(&path).map_err(told)?;
                    let length = file.metadata().map_err(told)?.len();
                    (OpenFile::Here(file), length)
                }
            }
            Access::Origin(interrupts) => {
                let told = |reason: String| HolderFault::Unread(reason);
                let below = str::from_utf8(&file.path);
                let below = below.map_err(|_| told("its key is no text".to_owned()))?;
                let address = Address::parse(&format!("{}{below}", self.record.node));
                let address = address.ok_or_else(|| told("it has no address".to_owned()))?;
                let address = address.map_err(|trouble| told(trouble.message().to_owned()))?;
                // What `publish` refuses is not read either.
                let own = Address::parse(&self.record.node).and_then(Result::ok);
                if own.is_none_or(|own| own.to_string() != self.record.node) {
                    return Err(told("its address has a user, a password or a query".to_owned()));
                }
                let object = elsewhere::open_at(&address, interrupts)
                    .map_err(|failure| told(failure.message().to_owned()))?;
                let length = object.size();
                (OpenFile::Origin(object), length)
            }
            // Its blocks are read by the path of the file.
            Access::Node(_) => {
                return Err(HolderFault::Differs("its manifest lacks a digest".to_owned()));
            }
        };
        if length != file.layout.length {
            let wanted = file.layout.length;
            let what = format!("{} has {length} bytes instead of {wanted}", self.shown(file));
            return Err(HolderFault::Differs(what));
        }
        Ok(opened)
    }

    fn path(&self, file: &NamedFile) -> Vec<u8> {
        match file.path.as_slice() {
            b"" => self.record.path.clone(),
            below => [&self.record.path, below].join(&b'/'),
        }
    }

    /// Returns the path of a file for messages, or that it is the object.
    fn shown(&self, file: &NamedFile) -> String {
        match self.access {
            Access::Origin(_) if file.path.is_empty() => "the object".to_owned(),
            Access::Origin(_) => format!("the object {}", printable::name(&file.path)),
            _ => format!("/{}", printable::name(&self.path(file))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_holders_get_help_by_nodes_and_very_slow_ones_by_the_origin() {
        let interrupts = Arc::new(Interrupts::catch().expect("signals can be caught"));
        let holder = |kind| {
            let node = "n1".to_owned();
            let record = NameHolder { node, kind, path: Vec::new() };
            let reach: Reach = Arc::new(|_| Err("nobody is reached".to_owned()));
            Holder::new(record, [0; 32], reach, Relation::Whole, &interrupts)
        };
        let node = holder(HolderKind::Node);
        let origin = holder(HolderKind::Origin);
        // A block of 1 MiB each 4.9 s; two blocks of 64 KiB in that time; none at all.
        for (rate, node_helps, origin_helps) in [
            (SLOW_NODES, false, false),
            (214_000, true, false),
            (26_000, true, true),
            (0, true, true),
        ] {
            let helps = (node.helps_at(rate), origin.helps_at(rate));
            assert_eq!(helps, (node_helps, origin_helps), "{rate}");
        }
    }
}
