//! A remote source: an object or a URL.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::plan::Layout;
use garland_dataplane::{Content, FeedError};
use garland_remote::{Address, Names, Object, Trouble};
use garland_sys::signal::Interrupts;

use crate::args::Cp;
use garland_fleet::launch::resolve::Lookup;
use garland_terminal::failure::Failure;

/// The permission bits of files copied from a remote source: objects and URLs have none.
pub const MODE: u32 = 0o644;

/// An open remote source. This machine reads the source once for all nodes.
pub struct Elsewhere(Object);

impl Elsewhere {
    /// Opens the source if it is remote; returns `None` if it is not. A remote source must be the
    /// only source.
    pub fn open(cp: &Cp, interrupts: &Arc<Interrupts>) -> Result<Option<Self>, Failure> {
        let Some(address) = address(cp.sources())? else { return Ok(None) };
        if cp.sources().len() > 1 {
            let what = format!("{address} cannot be copied together with other sources");
            return Err(Failure::usage(what)
                .hint("copy it with a separate command, or download it to this machine first"));
        }
        if address.is_prefix() {
            let what = format!("{address} is not a single object");
            return Err(Failure::usage(what).hint("-r copies all objects below it"));
        }
        let interrupts = Arc::clone(interrupts);
        let asked = Arc::clone(&interrupts);
        let object = Object::open(&address, names(), move || asked.have_come());
        let object = object.map_err(|it| unread("opening", &address, &it, &interrupts))?;
        Ok(Some(Self(object)))
    }

    /// Returns the file name of the source; `None` if the address has no file name.
    pub fn file_name(&self) -> Option<Vec<u8>> {
        self.0.address().file_name()
    }

    /// Returns the modification time of the source, if the server reports it.
    pub fn modified(&self) -> Option<(i64, u32)> {
        self.0.modified()
    }

    fn unfed(&self, trouble: &Trouble) -> FeedError {
        if trouble.is_stale() {
            FeedError::NotYet
        } else if trouble.is_change() {
            FeedError::Changed(self.name())
        } else {
            FeedError::Broken(trouble.message().to_owned())
        }
    }
}

/// Returns the address of the first source that is remote; `None` if no source is.
pub fn address(sources: &[PathBuf]) -> Result<Option<Address>, Failure> {
    let address = |path: &PathBuf| Address::parse(path.to_str()?);
    let first = sources.iter().find_map(address);
    first.transpose().map_err(|trouble| failure(Failure::usage, &trouble))
}

/// Whether a path is the address of an object or a URL.
pub fn is_elsewhere(path: &Path) -> bool {
    path.to_str().is_some_and(|text| Address::parse(text).is_some())
}

/// Returns the resolver of host names.
pub fn names() -> Names {
    Names::new(|name| Lookup::begin(name).address())
}

/// Returns the failure of an `operation` on a remote source, which the user may have interrupted.
pub fn unread(
    operation: &str,
    address: &Address,
    trouble: &Trouble,
    interrupts: &Interrupts,
) -> Failure {
    match interrupts.have_come() {
        true => Failure::interrupted(format!("{operation} {address}")),
        false => failure(Failure::nothing, trouble),
    }
}

fn failure(kind: fn(String) -> Failure, trouble: &Trouble) -> Failure {
    let failure = kind(trouble.message().to_owned());
    match trouble.what_to_do() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

impl Content for Elsewhere {
    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        self.0.read(layout.offset(index), bytes).map_err(|trouble| self.unfed(&trouble))
    }

    fn await_block(
        &self,
        layout: Layout,
        index: u64,
        stale: &dyn Fn() -> bool,
    ) -> Result<u32, FeedError> {
        let (offset, length) = (layout.offset(index), layout.block_length(index));
        let waited = self.0.wait(offset..offset + u64::from(length), stale);
        waited.map_err(|trouble| self.unfed(&trouble))?;
        Ok(length)
    }

    fn length(&self) -> u64 {
        self.0.length()
    }

    fn name(&self) -> String {
        self.0.address().to_string()
    }

    /// Always true: each read checks that the object has not changed since it was opened.
    fn is_unchanged(&self) -> bool {
        true
    }

    fn device(&self) -> Option<u64> {
        None
    }
}
