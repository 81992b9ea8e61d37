//! The source of `garland cp` to nodes, on this machine or elsewhere.

use std::sync::Arc;

use garland_copy::source::CopySource;
use garland_copy::spec::CopySpec;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::Failure;

use super::{elsewhere, objects};

/// Opens what the user specified: objects below a prefix, an object or URL, or what is on this machine. `disk` is
/// the rate of an emulated disk in bytes per second.
///
/// # Errors
/// When it cannot be opened, or not in this way.
pub fn open(
    spec: &CopySpec,
    interrupts: &Arc<Interrupts>,
    disk: Option<u64>,
) -> Result<CopySource, Failure> {
    let paths = &spec.source.paths;
    if let Some(address) = elsewhere::address(paths)?.filter(|_| spec.source.is_tree) {
        return Ok(CopySource::Tree(Arc::new(objects::open(spec, &address, interrupts)?)));
    }
    if let Some(object) = elsewhere::open(paths, interrupts)? {
        return Ok(CopySource::Elsewhere(Arc::new(object)));
    }
    CopySource::open(spec, interrupts, disk)
}
