//! The source of `garland cp` to nodes, on this machine or elsewhere.

use std::path::PathBuf;
use std::sync::Arc;

use garland_copy::source::CopySource;
use garland_copy::spec::CopySpec;
use garland_remote::{Object, elsewhere};
use garland_sys::signal::Interrupts;
use garland_terminal::failure::Failure;

use super::objects;

/// Opens what the user specified: objects below a prefix, an object or URL, or what is on this
/// machine. `disk` is the rate of an emulated disk in bytes per second.
///
/// # Errors
/// When it cannot be opened, or not in this way.
pub fn open(
    spec: &CopySpec,
    interrupts: &Arc<Interrupts>,
    disk: Option<u64>,
) -> Result<CopySource, Failure> {
    let paths = &spec.source.paths;
    if let Some(origin) = elsewhere::address(paths)?.filter(|_| spec.source.is_tree) {
        return Ok(CopySource::Tree(Arc::new(objects::open(spec, &origin, interrupts)?)));
    }
    if let Some(remote) = object(paths, interrupts)? {
        return Ok(CopySource::Elsewhere(Arc::new(remote)));
    }
    CopySource::open(spec, interrupts, disk)
}

/// Opens the source if it is an object or URL; returns `None` if it is not. It must be the only
/// source.
fn object(sources: &[PathBuf], interrupts: &Arc<Interrupts>) -> Result<Option<Object>, Failure> {
    let Some(origin) = elsewhere::address(sources)? else { return Ok(None) };
    if sources.len() > 1 {
        let what = format!("{origin} cannot be copied together with other sources");
        return Err(Failure::usage(what)
            .hint("copy it with a separate command, or download it to this machine first"));
    }
    if origin.is_prefix() {
        let what = format!("{origin} is not a single object");
        return Err(Failure::usage(what).hint("-r copies all objects below it"));
    }
    elsewhere::open_at(&origin, interrupts).map(Some)
}
