//! Trees of objects as the source of a copy: what an object store has below a prefix.

use std::sync::Arc;

use garland_dataplane::{ObjectFile, Objects, ScanOptions, TreeSource, Unread};
use garland_remote::{Address, Listed, Listing};
use garland_sys::confine::Root;
use garland_sys::process;
use garland_sys::signal::Interrupts;

use super::elsewhere::{names, unread};
use super::request::CopyRequest;
use garland_terminal::failure::Failure;

/// Lists the objects below `address`, the only source of a copy with `-r`. If the address ends in a slash, they
/// keep their paths below it; otherwise they go into a directory of its last name, as with directories.
pub fn open(
    request: &CopyRequest<'_>,
    address: &Address,
    interrupts: &Arc<Interrupts>,
) -> Result<TreeSource, Failure> {
    let args = request.args;
    let why_not = match address {
        _ if args.checksum => Some("--checksum would read all objects; omit it"),
        _ if args.files_from.is_some() => Some("--files-from applies to directories; omit it"),
        _ if args.sources().len() > 1 => Some("copy it with a separate command"),
        Address::Http(_) => Some("-r copies what s3://BUCKET/PREFIX/ has; a URL is one file"),
        Address::S3 { .. } => None,
    };
    if let Some(why_not) = why_not {
        let what = format!("{address} cannot be copied together with other sources, or with -r");
        return Err(Failure::usage(what).hint(why_not));
    }
    let asked = Arc::clone(interrupts);
    let listing = Listing::open(address, names(), move || asked.have_come());
    let listing = listing.map_err(|trouble| unread("listing", address, &trouble, interrupts))?;
    let options = ScanOptions {
        excludes: request.excludes.clone(),
        attributes: false,
        sweep: args.delete,
        root: &Root::Free,
        stop: &|| interrupts.have_come(),
    };
    let top = address.file_name().unwrap_or_default();
    let listing = Arc::new(listing);
    let objects: Arc<dyn Objects> = Arc::new(ListedObjects(Arc::clone(&listing)));
    let files = listing.objects().map(file_of);
    let tree = TreeSource::of_objects(files, objects, (&top, owner()), &options);
    if tree.tally().files == 0 {
        let none = Failure::nothing(format!("{address}: there are no objects below it to copy"));
        return Err(none.hint("check the prefix, and the patterns of --exclude"));
    }
    Ok(tree)
}

fn file_of(object: Listed<'_>) -> ObjectFile<'_> {
    let Listed { path, length, modified } = object;
    ObjectFile { path: path.as_bytes(), length, modified }
}

/// Returns the user and group of the files: those of this process.
fn owner() -> (u32, u32) {
    let group = process::group_ids().first().copied();
    (process::user_id(), group.unwrap_or_default())
}

/// The contents of listed objects.
struct ListedObjects(Arc<Listing>);

impl Objects for ListedObjects {
    fn begin(&self, numbers: &mut dyn FnMut() -> Vec<u32>) {
        self.0.begin(numbers);
    }

    fn read(&self, number: u32, offset: u64, bytes: &mut [u8]) -> Result<(), Unread> {
        self.0.read(number, offset, bytes).map_err(|trouble| {
            let reason = trouble.message().to_owned();
            if trouble.is_change() { Unread::Object(reason) } else { Unread::Store(reason) }
        })
    }
}
