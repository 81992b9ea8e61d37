//! Options of `garland cp` for the rate limit and for reading files back.

use clap::Args as ClapArgs;
use garland_core::units::Rate;
use garland_protocol::{Checksum, ReadBack};

use super::words::words;

/// The values of `--digest`: for each, its word, the digest and the help text.
const KINDS: &[(&str, Checksum, &str)] =
    &[("sha256", Checksum::Sha256, "SHA-256"), ("b3", Checksum::B3, "BLAKE3")];

/// The rate limit of a copy, and what is read back at its end.
#[derive(Clone, Debug, ClapArgs)]
pub struct Checks {
    /// Limit every link, such as 100MB/s or 1gbit.
    ///
    /// A link is between two machines; with --rails there are as many links between
    /// neighbours, with --shape twins up to two from and to a node, with --stripe one to each server.
    #[arg(long, value_name = "RATE", conflicts_with = "mptcp")]
    pub bwlimit: Option<Rate>,
    /// Read back from the disk before a file gets its name.
    ///
    /// Bypasses memory, and compares with what was sent; a node whose disk returns anything else fails.
    #[arg(long, conflicts_with = "no_fsync", help_heading = "Safety")]
    pub verify: bool,
    /// Print every node's digest: sha256 or b3.
    ///
    /// The file is read back there. As sha256sum or b3sum would, for `sha256sum -c` on the node; everything else then goes to standard error [default
    /// kind: sha256].
    #[arg(
        long,
        help_heading = "Safety",
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

impl Checks {
    /// Returns the checks that read the file back at the end of the copy.
    pub fn read_back(&self) -> ReadBack {
        ReadBack { verify: self.verify, checksum: self.digest }
    }
}
