//! Trees of objects as the source of a copy: what an object store has below a prefix.

use std::sync::Arc;

use garland_copy::spec::{Comparison, CopySpec};
use garland_dataplane::tree::{ObjectFile, ScanOptions, TreeSource};
use garland_remote::{Address, elsewhere};
use garland_sys::confine::Root;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::Failure;

/// Lists the objects below `address`, the only source of a copy with `-r`. If the address ends in a
/// slash, they keep their paths below it; otherwise they go into a directory of its last name, as
/// with directories.
pub fn open(
    spec: &CopySpec,
    address: &Address,
    interrupts: &Arc<Interrupts>,
) -> Result<TreeSource, Failure> {
    let source = &spec.source;
    let why_not = match address {
        _ if spec.checks.comparison == Comparison::Contents => {
            Some("--checksum would read all objects; omit it")
        }
        _ if source.chosen_by.is_some() => Some("--files-from applies to directories; omit it"),
        _ if source.paths.len() > 1 => Some("copy it with a separate command"),
        Address::Http(_) => Some("-r copies what s3://BUCKET/PREFIX/ has; a URL is one file"),
        Address::S3 { .. } => None,
    };
    if let Some(why_not) = why_not {
        let what = format!("{address} cannot be copied together with other sources, or with -r");
        return Err(Failure::usage(what).hint(why_not));
    }
    let options = ScanOptions {
        excludes: source.excludes.clone(),
        attributes: false,
        sweep: source.removes_others,
        one_file_system: false,
        root: &Root::Free,
        stop: &|| interrupts.have_come(),
    };
    let top = address.file_name().unwrap_or_default();
    let listing = Arc::new(elsewhere::list_below(address, interrupts)?);
    let files = listing.objects().map(ObjectFile::from);
    let tree = TreeSource::of_objects(files, listing.clone(), &top, &options);
    let tally = tree.tally();
    if tally.files + tally.folders == 0 {
        if let Some(first) = tree.left_out().first() {
            return Err(Failure::nothing(format!("{address}: nothing can be copied: {first}")));
        }
        let none = Failure::nothing(format!("{address}: there are no objects below it to copy"));
        return Err(none.hint("check the prefix, and the patterns of --exclude"));
    }
    Ok(tree)
}
