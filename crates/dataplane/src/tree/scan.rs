//! Looking at what is to be copied: every folder, in the order of its names.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use garland_core::tree::{Pattern, Record};
use garland_sys::confine::Root;
use thiserror::Error;

use super::index::{Body, Index, TOP};
use super::left_out::LeftOut;
use super::place::Place;
use super::walk::Walk;

/// What of a tree is copied.
pub struct ScanOptions<'a> {
    /// What isn't.
    pub excludes: Vec<Pattern>,
    /// Whether extended attributes are.
    pub attributes: bool,
    /// Whether nodes remove from its folders what isn't in them here.
    pub sweep: bool,
    /// Where paths begin, and whether they may lead out of it.
    pub root: &'a Root,
    /// Says whether the user gave up.
    pub stop: &'a dyn Fn() -> bool,
}

/// Why trees can't be copied at all.
#[derive(Debug, Error)]
pub enum ScanError {
    /// A source can't be opened.
    #[error("{operation} {path}: {reason}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The source.
        path: String,
        /// Why it failed.
        reason: String,
    },
    /// A source is nothing that can be copied.
    #[error("{path} is {is}, and only files, folders and links can be copied")]
    Kind {
        /// The source.
        path: String,
        /// What it is.
        is: &'static str,
    },
    /// Of two sources one would replace the other.
    #[error("two sources are named {0}")]
    Twice(String),
    /// There are more than numbers for them.
    #[error("more than 4 billion files, folders and links")]
    TooMany,
    /// The user gave up.
    #[error("interrupted")]
    Interrupted,
}

/// How much there is to copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Files.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic links, and further names of files.
    pub links: u64,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Scan {
    pub index: Index,
    pub places: Vec<Place>,
    pub left_out: Vec<LeftOut>,
    /// Folders that nodes mustn't remove anything from, since not all that is in them was seen.
    pub unswept: Vec<PathBuf>,
    pub tally: Tally,
}

/// Looks at all of `sources`: what ends in a slash gives what is in it, anything else itself.
pub fn scan(sources: &[impl AsRef<Path>], options: &ScanOptions<'_>) -> Result<Scan, ScanError> {
    let mut names = HashSet::new();
    let mut walk = Walk::new(options);
    if options.sweep {
        let spared = options.excludes.iter().map(|pattern| pattern.text().to_vec()).collect();
        walk.scan.index.push(TOP, &Record::Spare(spared), Body::None);
    }
    for source in sources {
        let source = source.as_ref();
        match name_of(source) {
            Some(name) => {
                if !names.insert(name.to_owned()) {
                    return Err(ScanError::Twice(name.to_string_lossy().into_owned()));
                }
                walk.named(source, name.as_bytes())?;
            }
            None => walk.content(source)?,
        }
    }
    walk.scan.index.push(TOP, &Record::End, Body::None);
    walk.scan.index.close();
    Ok(walk.scan)
}

/// The name that a source has in the stream; none where only what is in it is copied.
pub fn name_of(source: &Path) -> Option<&OsStr> {
    source.file_name().filter(|_| !means_content(source))
}

fn means_content(source: &Path) -> bool {
    let bytes = source.as_os_str().as_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.") || bytes == b"."
}
