//! The patterns of paths that are not copied: those of the command line, and those in files.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use garland_copy::lists::{lines, read};
use garland_core::printable;
use garland_core::tree::Pattern;
use garland_terminal::failure::Failure;

/// A rule about paths to skip.
#[derive(Clone, Debug)]
pub enum FilterRule {
    /// Skip what matches this pattern.
    Exclude(OsString),
    /// Do not skip what matches this pattern.
    Include(OsString),
    /// The patterns in this file.
    From(PathBuf),
}

/// Returns the patterns of paths that are not copied, and of exceptions.
pub fn excludes(rules: &[FilterRule]) -> Result<Vec<Pattern>, Failure> {
    let mut all = Vec::new();
    let parse = |text: &[u8], place: &str| {
        let shown = printable::bytes(text);
        let invalid = |error| Failure::usage(format!("{place} {shown}: {error}"));
        Pattern::parse(text).map_err(invalid)
    };
    for rule in rules {
        match rule {
            FilterRule::Exclude(text) => all.push(parse(text.as_bytes(), "--exclude")?),
            FilterRule::Include(text) => {
                all.push(parse(&[b"+ ", text.as_bytes()].concat(), "--include")?);
            }
            FilterRule::From(path) => {
                for (line, number) in lines(&read(path)?) {
                    all.push(parse(line, &format!("{}:{number}:", printable::path(path)))?);
                }
            }
        }
    }
    Ok(all)
}
