//! The options and the result of a scan of a tree.

use std::path::PathBuf;

use garland_core::tree::{Pattern, Record};
use garland_sys::confine::Root;
use thiserror::Error;

use super::index::{Body, Index, TOP};
use super::left_out::LeftOut;
use super::place::Place;

/// The options of a scan: which parts of a tree are copied, and how.
pub struct ScanOptions<'a> {
    /// Patterns of paths that are not copied, and of exceptions; the first that matches decides.
    pub excludes: Vec<Pattern>,
    /// Whether extended attributes are copied.
    pub attributes: bool,
    /// Whether nodes remove files that the source does not have.
    pub sweep: bool,
    /// Whether directories of other file systems than that of their source are copied without what
    /// is in them.
    pub one_file_system: bool,
    /// The root in which paths are resolved; if it is confined, no path may leave it.
    pub root: &'a Root,
    /// Called repeatedly; returns true if the user has interrupted the scan.
    pub stop: &'a dyn Fn() -> bool,
}

/// The reason why no part of the sources can be copied.
#[derive(Debug, Error)]
pub enum ScanError {
    /// A source cannot be opened.
    #[error("cannot {operation} {path}: {reason}")]
    Io {
        /// The operation that failed, as an infinitive.
        operation: &'static str,
        /// The path of the source.
        path: String,
        /// Why it failed.
        reason: String,
    },
    /// A source is of a kind that cannot be copied.
    #[error("cannot copy {path}: it is {is}, not a file, directory or symbolic link")]
    Kind {
        /// The path of the source.
        path: String,
        /// The kind of the file, such as `a socket`.
        is: &'static str,
    },
    /// Two sources have this name.
    #[error("two sources are named {0}")]
    Twice(String),
    /// Two entries that were found have the same name.
    #[error("cannot copy both {one} and {other}: they have the same name")]
    SameName {
        /// The path of one of them.
        one: String,
        /// The path of the other.
        other: String,
    },
    /// A pattern finds more than is allowed.
    #[error(
        "cannot expand {pattern}: {why}; copy the directory with -r, and choose with --include and --exclude"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What there is too much of, as a clause.
        why: String,
    },
    /// What is asked for is in more directories than can stay open for the copy.
    #[error(
        "cannot copy what is in more than {places} directories, links to follow among them; copy the directory with -r, and choose with --include and --exclude"
    )]
    TooManyPlaces {
        /// The maximum number of directories, and of links to follow.
        places: usize,
    },
    /// Nothing is at any path: the paths, each with the reason.
    #[error("cannot copy {0}")]
    Missing(String),
    /// The tree has more entries than there are record numbers.
    #[error("the tree has more than 4 billion files, directories and links; copy parts of it")]
    TooMany,
    /// The user interrupted the scan.
    #[error("interrupted")]
    Interrupted,
}

/// The numbers of files, directories and links to copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of files.
    pub files: u64,
    /// The number of directories.
    pub folders: u64,
    /// The number of symbolic links, and of further hard links to files.
    pub links: u64,
}

impl Tally {
    /// Adds the numbers of `other`.
    pub fn add(&mut self, other: Self) {
        self.files = self.files.saturating_add(other.files);
        self.folders = self.folders.saturating_add(other.folders);
        self.links = self.links.saturating_add(other.links);
    }
}

/// The result of a scan.
#[derive(Debug, Default)]
pub struct Scan {
    pub index: Index,
    pub places: Vec<Place>,
    pub left_out: Vec<LeftOut>,
    /// The directories in which nodes must not remove anything, since not everything in them is
    /// copied.
    pub unswept: Vec<PathBuf>,
    pub tally: Tally,
}

impl Scan {
    /// Begins the records of all sources: with the patterns of what nodes spare, if they remove
    /// anything.
    pub fn begin(&mut self, options: &ScanOptions<'_>) {
        if options.sweep {
            let spared = options.excludes.iter().map(|pattern| pattern.text().to_vec()).collect();
            self.index.push(TOP, &Record::Spare(spared), Body::None);
        }
    }

    /// Ends the records.
    pub fn end(mut self) -> Self {
        self.index.push(TOP, &Record::End, Body::None);
        self.index.close();
        self
    }
}
