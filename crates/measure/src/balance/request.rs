//! The request of `garland balance`, checked before any agent is started.

use garland_core::plan::Layout;
use garland_core::units::bytes;
use garland_protocol::measure::BALANCE_SIZES;
use garland_terminal::failure::Failure;

use crate::args::Balance;

/// A request for a balance test, with valid values.
pub struct BalanceRequest {
    /// The directory for the test files on each node; need not be UTF-8.
    pub path: Vec<u8>,
    /// The sizes of the copied files: as the user wrote each, and in bytes.
    pub sizes: Vec<(String, u64)>,
    /// The numbers of remote copies to measure, each at most `pairs`.
    pub remote: Vec<usize>,
    /// Number of pairs of nodes.
    pub pairs: usize,
    /// Number of rounds of each point.
    pub rounds: u16,
    /// Whether files are dropped from the page cache before each copy; otherwise they are loaded
    /// into it.
    pub cold: bool,
    /// Whether a copy must be on stable storage to be done.
    pub fsync: bool,
    /// Whether blocks are encrypted; otherwise they are only authenticated.
    pub sealed: bool,
    /// The block size in bytes; if none, it depends on the sizes of the files.
    pub block: Option<u32>,
}

impl BalanceRequest {
    /// Checks the arguments in `balance` and returns the request; `nodes` is the number of nodes,
    /// and `path` the directory on each.
    pub fn read(balance: &Balance, path: Vec<u8>, nodes: usize) -> Result<Self, Failure> {
        if path == b"/dev/null" || path == b"-" {
            return Err(Failure::usage("balance copies between disks: PATH must be a directory"));
        }
        if nodes == 1 {
            return Err(Failure::usage("balance needs two nodes or more")
                .hint("the first and the second node are a pair, and so on")
                .hint("to measure one node's disk, run garland disk"));
        }
        if !nodes.is_multiple_of(2) {
            return Err(Failure::usage(format!(
                "balance needs an even number of nodes, not {nodes}"
            ))
            .hint("the first and the second node are a pair, and so on")
            .hint("to leave out a node, write n[1-9]!n3"));
        }
        let pairs = nodes / 2;
        let remote = match &balance.remote {
            None => (0..=pairs).collect(),
            Some(given) => given.clone(),
        };
        if let Some(many) = remote.iter().find(|&&remote| remote > pairs) {
            let copies = if pairs == 1 { "1 copy" } else { &format!("{pairs} copies") };
            let message = format!("--remote {many}: {nodes} nodes make only {copies}");
            return Err(Failure::usage(message).hint("each pair of nodes makes one copy"));
        }
        let sizes = balance.sizes.iter().map(|text| size(text)).collect::<Result<_, _>>()?;
        let block = balance.block_size.as_deref().map(block).transpose()?;
        Ok(Self {
            path,
            sizes,
            remote,
            pairs,
            rounds: balance.rounds,
            cold: !balance.warm,
            fsync: !balance.no_fsync,
            sealed: !balance.no_encrypt,
            block,
        })
    }

    /// Returns the size of the largest file in bytes.
    pub fn longest(&self) -> u64 {
        self.sizes.iter().map(|(_, size)| *size).max().unwrap_or(0)
    }
}

fn block(text: &str) -> Result<u32, Failure> {
    let size = bytes::parse(text)?;
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    Layout::new(0, size).map(|layout| layout.block_size).map_err(Failure::usage)
}

fn size(text: &str) -> Result<(String, u64), Failure> {
    let text = text.trim();
    let size = bytes::parse(text)?;
    if !BALANCE_SIZES.contains(&size) {
        let least = bytes::format(*BALANCE_SIZES.start());
        let most = bytes::format(*BALANCE_SIZES.end());
        let message = format!("--sizes {text}: the size must be from {least} to {most}");
        let failure = Failure::usage(message);
        if size > *BALANCE_SIZES.end() {
            return Err(failure);
        }
        return Err(failure
            .hint("copies should take at least 0.2 s: shorter ones are not measured accurately"));
    }
    Ok((text.to_owned(), size))
}
