//! What the user asked for, checked before anything is started.

use garland_core::plan::Layout;
use garland_core::units::bytes;
use garland_protocol::BALANCE_SIZES;

use crate::args::Balance;
use garland_terminal::failure::Failure;

/// What is to be measured.
pub struct BalanceRequest {
    /// The folder on each node, in the system's bytes.
    pub path: Vec<u8>,
    /// The files' lengths: as the user wrote them, and in bytes.
    pub sizes: Vec<(String, u64)>,
    /// How many copies are remote.
    pub remote: Vec<usize>,
    /// How many pairs there are.
    pub pairs: usize,
    /// Rounds of each point.
    pub rounds: u16,
    /// Whether caches are empty; full otherwise.
    pub cold: bool,
    /// Whether a copy is done only when it is on stable storage.
    pub fsync: bool,
    /// Whether blocks are sealed.
    pub sealed: bool,
    /// Bytes of a block, if not by the files' lengths.
    pub block: Option<u32>,
}

impl BalanceRequest {
    /// What `balance` asks of so many nodes.
    pub fn read(balance: &Balance, path: Vec<u8>, nodes: usize) -> Result<Self, Failure> {
        if path == b"/dev/null" || path == b"-" {
            return Err(Failure::usage("balance copies from disk to disk: PATH is a folder"));
        }
        if nodes == 1 {
            return Err(Failure::usage("one node has no partner to copy to")
                .hint("name two nodes or more, in pairs: the first and the second are one")
                .hint("garland disk measures one node's disk"));
        }
        if !nodes.is_multiple_of(2) {
            return Err(Failure::usage(format!("{nodes} nodes aren't pairs"))
                .hint("name an even number: the first and the second are a pair, and so on")
                .hint("n[1-9]!n3 leaves one out"));
        }
        let pairs = nodes / 2;
        let remote = match &balance.remote {
            None => (0..=pairs).collect(),
            Some(given) => given.clone(),
        };
        if let Some(many) = remote.iter().find(|&&remote| remote > pairs) {
            let copies = if pairs == 1 { "1 copy" } else { &format!("{pairs} copies") };
            let message = format!("--remote {many}: {nodes} nodes make {copies} in all");
            return Err(Failure::usage(message).hint("each pair of nodes makes one"));
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

    /// Bytes of the longest file.
    pub fn longest(&self) -> u64 {
        self.sizes.iter().map(|(_, size)| *size).max().unwrap_or(0)
    }
}

fn block(text: &str) -> Result<u32, Failure> {
    let size = bytes::parse(text).map_err(Failure::usage)?;
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    Layout::new(0, size).map(|layout| layout.block_size).map_err(Failure::usage)
}

fn size(text: &str) -> Result<(String, u64), Failure> {
    let text = text.trim();
    let size = bytes::parse(text).map_err(Failure::usage)?;
    if !BALANCE_SIZES.contains(&size) {
        let (least, most) = BALANCE_SIZES.into_inner();
        let [least, most] = [least, most].map(bytes::format);
        return Err(Failure::usage(format!("--sizes {text}: allowed are {least} to {most}"))
            .hint("copies that take less than some tenths of a second say little"));
    }
    Ok((text.to_owned(), size))
}
