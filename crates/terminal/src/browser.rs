//! Opens a report in the browser of whoever runs the command.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use garland_core::printable;

use crate::errln;

/// Opens `file` with the first program of `$BROWSER` (separated by colons) or with `xdg-open` that
/// can show it. Says where the file is if there is none.
pub fn open(file: &Path) {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let chosen = std::env::var_os("BROWSER").unwrap_or_default();
    let programs = std::env::split_paths(&chosen).map(|path| path.into_os_string());
    // A browser of the terminal has the terminal until it ends.
    let shows = |program: OsString| {
        Command::new(program).arg(&file).status().is_ok_and(|status| status.success())
    };
    if !programs.filter(|program| !program.is_empty()).chain(["xdg-open".into()]).any(shows) {
        errln!(
            "no browser: neither $BROWSER nor xdg-open shows it; the report is in {}",
            printable::path(&file)
        );
    }
}
