//! Objects and URLs that are published: they are read once, for the digests of their blocks.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use garland_core::plan::{LaneBlocks, Layout};
use garland_core::printable;
use garland_dataplane::block_index::holding::digest_all;
use garland_dataplane::source::RemoteFile;
use garland_dataplane::tree::ObjectFile;
use garland_protocol::names::{NameManifest, NamedFile};
use garland_remote::{Address, Trouble, elsewhere};
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

/// The number of threads that read and digest an object.
const READERS: usize = 4;

/// Returns the manifest of an object or a URL, or, if the address ends in a slash, of all objects
/// below it. `given` is the address as the user wrote it.
pub fn manifest(
    address: &Address,
    given: &OsStr,
    interrupts: &Arc<Interrupts>,
) -> Result<NameManifest, Failure> {
    let shown = address.to_string();
    if given != shown.as_str() {
        let why = format!("the agents that keep names would see the secrets of {shown}");
        return Err(Failure::usage(why).hint("give an address without user, password and query"));
    }
    let manifest = match address.is_prefix() {
        true => below(address, interrupts)?,
        false => single(address, interrupts)?,
    };
    if manifest.files.is_empty() {
        return Err(Failure::nothing(format!("{shown}: there are no objects below it to publish")));
    }
    // What no copy could repeat, such as a key that is no path, is refused now.
    let (bytes, _) = manifest.encode().map_err(Failure::nothing)?;
    let refused = |reason| Failure::nothing(format!("cannot publish {shown}: {reason}"));
    NameManifest::parse(&bytes).map_err(refused)
}

fn single(address: &Address, interrupts: &Arc<Interrupts>) -> Result<NameManifest, Failure> {
    let nameless = || Failure::usage(format!("{address} ends in no file name"));
    let base = address.file_name().ok_or_else(nameless)?;
    let object = elsewhere::open_at(address, interrupts)?;
    let listed = ObjectFile {
        path: &[],
        is_readable: true,
        length: object.size(),
        mode: object.mode(),
        modified: object.time().unwrap_or_default(),
    };
    let fill = |offset, bytes: &mut [u8]| object.fill(offset, bytes);
    let file = digest_object(address, listed, READERS, fill, interrupts)?;
    Ok(NameManifest { base, is_tree: false, files: vec![file] })
}

fn below(address: &Address, interrupts: &Arc<Interrupts>) -> Result<NameManifest, Failure> {
    let listing = elsewhere::list_below(address, interrupts)?;
    // Some programs store an empty object for each directory.
    let all = (0..).zip(listing.objects());
    let files: Vec<_> = all.filter(|(_, object)| !object.path.ends_with('/')).collect();
    if let Some((_, odd)) = files.iter().find(|(_, object)| !object.is_readable) {
        let why = "its key is not a path of a file";
        let key = printable::name(odd.path.as_bytes());
        return Err(Failure::nothing(format!("cannot publish {address}{key}: {why}")));
    }
    // The objects are read ahead in this order, several at a time.
    listing.start(|| files.iter().map(|(number, _)| *number).collect());
    let read = |(number, object)| {
        let fill = |offset, bytes: &mut [u8]| listing.fill(number, offset, bytes);
        digest_object(address, ObjectFile::from(object), 1, fill, interrupts)
    };
    let mut files = files.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    // Stores order whole keys, and a directory's files need not follow each other there.
    files.sort_by(NamedFile::path_order);
    let text = address.to_string();
    let base = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    Ok(NameManifest { base: base.as_bytes().to_vec(), is_tree: true, files })
}

/// Reads an object by `fill`, in so many threads, for the digests of its blocks.
fn digest_object(
    address: &Address,
    listed: ObjectFile<'_>,
    readers: usize,
    fill: impl Fn(u64, &mut [u8]) -> Result<(), Trouble> + Sync,
    interrupts: &Interrupts,
) -> Result<NamedFile, Failure> {
    let layout = Layout::fitting(listed.length);
    let stop = AtomicBool::new(false);
    let read = |index, bytes: &mut [u8]| {
        let filled = fill(layout.offset(index), bytes);
        filled.map_err(|trouble| io::Error::other(trouble.message().to_owned()))
    };
    let blocks = LaneBlocks::all(layout.blocks());
    let digests = digest_all(layout, blocks, readers, read, || (), &stop);
    if interrupts.have_come() {
        return Err(Failure::interrupted(format!("reading {address}")));
    }
    let digests = digests.or_nothing(format!("cannot read {address}"))?;
    let ObjectFile { path, mode, modified, .. } = listed;
    Ok(NamedFile { path: path.to_vec(), mode, modified, layout, digests })
}
