//! Options that say what is compared, read back and made stable.

use clap::Args as ClapArgs;
use garland_copy::spec::{Comparison, CopyChecks};
use garland_protocol::copy::{Checksum, ReadBack, TimeWindow};

use super::headings::SAFETY;
use super::kind::{FILE, FROM_FILES, FROM_STRIPES, OBJECT, STREAM, TO_NODES, TREE};
use super::rule::Rule;
use crate::args::words;

/// The values of `--digest`: for each, its word, the digest and the help text.
const KINDS: &[(&str, Checksum, &str)] =
    &[("sha256", Checksum::Sha256, "SHA-256"), ("b3", Checksum::B3, "BLAKE3")];

/// What is compared, read back and made stable.
#[derive(Clone, Debug, ClapArgs)]
pub struct CheckArgs {
    /// Send everything, also what nodes already have.
    ///
    /// Copies from nodes always send everything. Without this option each node compares what is at
    /// PATH, and what an interrupted copy left there, and only the missing blocks are sent.
    #[arg(long)]
    pub whole: bool,
    /// Compare trees by contents, not by size and time.
    ///
    /// Without this option a file of a directory is left as it is if it has the size, the
    /// modification time, the mode and the owner of the source, as with rsync. Files that differ,
    /// and single files, are compared by their contents in any case; with it, all files are read,
    /// also those that were read by an earlier copy and have the times that they had then.
    #[arg(short, long, conflicts_with = "whole")]
    pub checksum: bool,
    /// Take times of files in trees for the same that differ by at most SECONDS, of which parts are
    /// not compared.
    ///
    /// For file systems that keep less of a time than that of SOURCE, or another one [default: the
    /// same, as far as the file system is known to keep it].
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "tree",
        conflicts_with_all = ["whole", "checksum", "verify"],
        hide_short_help = true
    )]
    pub modify_window: Option<u32>,
    /// Do not wait for stable storage.
    #[arg(long, help_heading = SAFETY)]
    pub no_fsync: bool,
    /// Write to a block device even if it is mounted, used as swap, or part of another device.
    #[arg(long, help_heading = SAFETY, hide_short_help = true)]
    pub force_device: bool,
    /// Read back from the disk before a file gets its name.
    ///
    /// Bypasses memory, and compares with what was sent; a node whose disk returns anything else
    /// fails.
    #[arg(long, conflicts_with = "no_fsync", help_heading = SAFETY)]
    pub verify: bool,
    /// Print every node's digest: sha256 or b3.
    ///
    /// The file is read back there. As sha256sum or b3sum would, for `sha256sum -c` on the node;
    /// everything else then goes to standard error [default kind: sha256].
    #[arg(
        long,
        help_heading = SAFETY,
        value_parser = words(KINDS),
        value_name = "KIND",
        num_args = 0..=1,
        require_equals = true,
        hide_possible_values = true,
        default_missing_value = "sha256",
        conflicts_with = "tree"
    )]
    pub digest: Option<Checksum>,
}

pub const RULES: &[Rule] = &[
    // A copy without a comparison sends everything anyway.
    Rule::everywhere("whole").spooled(),
    Rule::new("checksum", TO_NODES, "copies from nodes send everything").spooled(),
    Rule::new("modify-window", TREE | OBJECT, "only copies of directories to nodes compare times")
        .spooled(),
    Rule::everywhere("no-fsync").spooled(),
    Rule::new(
        "force-device",
        FILE | OBJECT | STREAM | FROM_FILES | FROM_STRIPES,
        "this copy writes to no device",
    )
    .not_spooled("entries go into a directory, not to a device"),
    Rule::everywhere("verify").spooled(),
    Rule::everywhere("digest"),
];

impl CheckArgs {
    /// Returns what is checked.
    pub fn spec(&self) -> CopyChecks {
        CopyChecks {
            comparison: self.comparison(),
            window: TimeWindow(self.modify_window),
            read_back: ReadBack { verify: self.verify, checksum: self.digest },
            fsync: !self.no_fsync,
            forces_devices: self.force_device,
        }
    }

    fn comparison(&self) -> Comparison {
        if self.whole {
            Comparison::None
        } else if self.checksum {
            Comparison::Contents
        } else {
            Comparison::Status
        }
    }
}
