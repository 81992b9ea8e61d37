//! What users name by an address: whether a path is one, and opening what is there until they
//! interrupt it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::printable;
use garland_fleet::destination::FORM;
use garland_fleet::launch::resolve::{Lookup, Unresolved};
use garland_sys::signal::Interrupts;
use garland_terminal::failure::Failure;

use crate::address::Address;
use crate::listing::Listing;
use crate::names::Names;
use crate::object::Object;
use crate::trouble::Trouble;

/// Opens the object or URL at `address`.
///
/// # Errors
/// When it cannot be opened, or the user interrupts.
pub fn open_at(address: &Address, interrupts: &Arc<Interrupts>) -> Result<Object, Failure> {
    let asked = Arc::clone(interrupts);
    let object = Object::open(address, names(), move || asked.have_come());
    object.map_err(|it| unread("opening", address, &it, interrupts))
}

/// Lists the objects below `address`.
///
/// # Errors
/// When they cannot be listed, or the user interrupts.
pub fn list_below(address: &Address, interrupts: &Arc<Interrupts>) -> Result<Listing, Failure> {
    let asked = Arc::clone(interrupts);
    let listing = Listing::open(address, names(), move || asked.have_come());
    listing.map_err(|trouble| unread("listing", address, &trouble, interrupts))
}

/// Returns the address of the first source that is remote; `None` if no source is.
///
/// # Errors
/// If a source looks like an address and cannot be parsed.
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
    let message = format!("`{}` cannot be a destination, only a source", printable::path(path));
    Err(Failure::usage(message).hint(FORM))
}

/// Whether a path is the address of an object or a URL.
pub fn is_elsewhere(path: &Path) -> bool {
    path.to_str().is_some_and(|text| Address::parse(text).is_some())
}

/// Returns the resolver of host names.
fn names() -> Names {
    Names::new(|name| Ok::<_, Unresolved>(Lookup::begin(name).addresses()?.iter().collect()))
}

/// Returns the failure of an `operation` on a remote source, which the user may have interrupted.
fn unread(
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
