//! Reads blocks from a place where the content of a name lies.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use garland_mount::{NodeFile, NodeFileError, NodeFiles, Reach};
use garland_protocol::{NameHolder, NamedFile, content_digest};
use garland_sys::sync::Mutex;
use garland_sys::{error, process};

/// The maximum number of files that a holder has open.
const OPEN: usize = 16;

/// Why a holder cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderFault {
    /// It cannot be reached or read; the reason.
    Unread(String),
    /// It has no such file any more, or its bytes are not those of the manifest; what differs.
    Differs(String),
}

/// A place where the content of a name lies.
pub struct Holder {
    /// The record of the holder.
    pub record: NameHolder,
    access: Access,
    open: Mutex<BTreeMap<usize, Arc<OpenFile>>>,
}

enum Access {
    Here,
    Node(NodeFiles),
    Elsewhere,
}

enum OpenFile {
    Here(File),
    Node(NodeFile),
}

impl Holder {
    /// Creates the holder of a record; `reach` connects to its node's agent. Nothing is contacted.
    pub fn new(record: NameHolder, reach: Reach) -> Self {
        let access = match record.is_head {
            true if record.node == process::host_name() => Access::Here,
            true => Access::Elsewhere,
            false => Access::Node(NodeFiles::new(record.node.clone(), reach)),
        };
        Self { record, access, open: Mutex::default() }
    }

    /// Returns whether the content lies on this machine.
    pub fn is_here(&self) -> bool {
        matches!(self.access, Access::Here)
    }

    /// Fills `bytes` with block `index` of `file`, which is the file `number` of the name, and verifies it.
    pub fn read(
        &self,
        (number, file): (usize, &NamedFile),
        index: u64,
        bytes: &mut [u8],
    ) -> Result<(), HolderFault> {
        let open = self.open(number, file)?;
        let offset = file.layout.offset(index);
        let read = match &*open {
            OpenFile::Here(file) => {
                file.read_exact_at(bytes, offset).map_err(|error| error::reason(&error))
            }
            OpenFile::Node(file) => file.read(offset, bytes),
        };
        read.map_err(HolderFault::Unread)?;
        if Some(&content_digest(bytes)) != file.digests.get(index as usize) {
            let path = self.path(file);
            let what = format!("{} differs in block {index}", shown(&path));
            return Err(HolderFault::Differs(what));
        }
        Ok(())
    }

    fn open(&self, number: usize, file: &NamedFile) -> Result<Arc<OpenFile>, HolderFault> {
        let mut open = self.open.lock();
        if let Some(open) = open.get(&number) {
            return Ok(Arc::clone(open));
        }
        let path = self.path(file);
        let (opened, length) = match &self.access {
            Access::Elsewhere => {
                let host = &self.record.node;
                let why = format!("it is no node, but the host {host}: get it there");
                return Err(HolderFault::Unread(why));
            }
            Access::Here => {
                let at = Path::new("/").join(std::ffi::OsStr::from_bytes(&path));
                let told = |error| {
                    let reason = error::reason(&error);
                    HolderFault::Differs(format!("cannot open {}: {reason}", at.display()))
                };
                let file = File::open(&at).map_err(told)?;
                let length = file.metadata().map_err(told)?.len();
                (OpenFile::Here(file), length)
            }
            Access::Node(node) => {
                let file = node.open(&path).map_err(|error| match error {
                    NodeFileError::Unreached(reason) => HolderFault::Unread(reason),
                    NodeFileError::Refused(reason) => HolderFault::Differs(reason),
                })?;
                let length = file.length();
                (OpenFile::Node(file), length)
            }
        };
        if length != file.layout.length {
            let wanted = file.layout.length;
            let what = format!("{} has {length} bytes instead of {wanted}", shown(&path));
            return Err(HolderFault::Differs(what));
        }
        while open.len() >= OPEN {
            // Files are read in order.
            open.pop_first();
        }
        let opened = Arc::new(opened);
        open.insert(number, Arc::clone(&opened));
        Ok(opened)
    }

    fn path(&self, file: &NamedFile) -> Vec<u8> {
        match file.path.as_slice() {
            b"" => self.record.path.clone(),
            below => [&self.record.path, below].join(&b'/'),
        }
    }
}

fn shown(path: &[u8]) -> String {
    format!("/{}", String::from_utf8_lossy(path))
}
