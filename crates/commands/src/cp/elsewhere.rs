//! A remote source: an object or a URL.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_remote::{Address, Names, Object, Trouble};
use garland_sys::signal::Interrupts;

use garland_fleet::destination::FORM;
use garland_fleet::launch::resolve::{Lookup, Unresolved};
use garland_terminal::failure::Failure;

/// Opens the source if it is remote; returns `None` if it is not. A remote source must be the only
/// source.
pub fn open(sources: &[PathBuf], interrupts: &Arc<Interrupts>) -> Result<Option<Object>, Failure> {
    let Some(address) = address(sources)? else { return Ok(None) };
    if sources.len() > 1 {
        let what = format!("{address} cannot be copied together with other sources");
        return Err(Failure::usage(what)
            .hint("copy it with a separate command, or download it to this machine first"));
    }
    if address.is_prefix() {
        let what = format!("{address} is not a single object");
        return Err(Failure::usage(what).hint("-r copies all objects below it"));
    }
    open_at(&address, interrupts).map(Some)
}

/// Opens the object or URL at `address`.
pub fn open_at(address: &Address, interrupts: &Arc<Interrupts>) -> Result<Object, Failure> {
    let asked = Arc::clone(interrupts);
    let object = Object::open(address, names(), move || asked.have_come());
    object.map_err(|it| unread("opening", address, &it, interrupts))
}

/// Returns the address of the first source that is remote; `None` if no source is.
pub fn address(sources: &[PathBuf]) -> Result<Option<Address>, Failure> {
    let address = |path: &PathBuf| Address::parse(path.to_str()?);
    let first = sources.iter().find_map(address);
    first.transpose().map_err(|trouble| failure(Failure::usage, &trouble))
}

/// Returns an error if `destination` is the address of an object or a URL.
///
/// # Errors
/// If it is.
pub fn refuse_as_destination(destination: &OsStr) -> Result<(), Failure> {
    let path = Path::new(destination);
    if !is_elsewhere(path) {
        return Ok(());
    }
    let message = format!("`{}` cannot be a destination, only a source", path.display());
    Err(Failure::usage(message).hint(FORM))
}

/// Whether a path is the address of an object or a URL.
pub fn is_elsewhere(path: &Path) -> bool {
    path.to_str().is_some_and(|text| Address::parse(text).is_some())
}

/// Returns the resolver of host names.
pub fn names() -> Names {
    Names::new(|name| Ok::<_, Unresolved>(Lookup::begin(name).addresses()?.iter().collect()))
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
