//! The rounds of a balance test: every size with every number of remote copies, in both directions.

use std::io;

use garland_control::{Exchange, RoundOutcome};
use garland_core::plan::Layout;
use garland_protocol::operation::PairEnd;
use garland_protocol::operation::balance::{CopyPair, PreparedFile, RoundJob};
use garland_sys::tcp;

use super::request::BalanceRequest;

/// The measured rounds of one point: one file size with one number of remote copies.
pub struct Measured {
    /// The index of the file size in the request.
    pub size: usize,
    /// The number of copies over the network.
    pub remote: usize,
    /// The completed rounds, in order.
    pub rounds: Vec<Round>,
}

/// One completed round.
pub struct Round {
    /// Whether the copies go from the second node of each pair to the first.
    pub backwards: bool,
    /// The sender and the receiver of each copy, by pair.
    pub errands: Vec<CopyPair>,
    /// The agents' reports on the round.
    pub course: RoundOutcome,
}

/// What was measured so far; nodes are identified by their index in `names`.
pub struct Findings {
    /// The names of all nodes, in the order of the node list.
    pub names: Vec<String>,
    /// The pairs whose nodes both have a test file, as indices of the nodes.
    pub pairs: Vec<[usize; 2]>,
    /// For each node, its test file; none until it is written.
    pub stocked: Vec<Option<PreparedFile>>,
    /// For each node, why it failed; none if it has not failed.
    pub troubles: Vec<Option<String>>,
    /// For each node, whether its agent has exited.
    pub dead: Vec<bool>,
    /// The measured points, in order.
    pub points: Vec<Measured>,
    /// Whether the user interrupted the test.
    pub interrupted: bool,
}

/// A running balance test: its request, its agents, and its findings so far.
pub struct Series<'a> {
    request: &'a BalanceRequest,
    exchange: Exchange<'a>,
    mptcp: bool,
    findings: Findings,
}

impl<'a> Series<'a> {
    /// Creates a test of the nodes `names`. For each node, `absent` has the error if it has no
    /// agent. `mptcp` says whether links between nodes use MPTCP.
    pub fn new(
        request: &'a BalanceRequest,
        names: Vec<String>,
        exchange: Exchange<'a>,
        absent: Vec<Option<String>>,
        mptcp: bool,
    ) -> Self {
        let findings = Findings {
            stocked: vec![None; names.len()],
            dead: vec![false; names.len()],
            troubles: absent,
            names,
            pairs: Vec::new(),
            points: Vec::new(),
            interrupted: false,
        };
        Self { request, exchange, mptcp, findings }
    }

    /// Makes every node write its test file. A pair is left out if either of its nodes fails.
    pub fn stock(&mut self) -> io::Result<()> {
        let found = &mut self.findings;
        let nodes: Vec<usize> =
            (0..found.names.len()).filter(|&node| found.troubles[node].is_none()).collect();
        let told = self.exchange.stock(&nodes, &self.request.path, self.request.longest())?;
        let Some(told) = told else {
            found.interrupted = true;
            return Ok(());
        };
        for (node, told) in told {
            match told {
                Ok(stocked) => found.stocked[node] = Some(stocked),
                Err(reason) => found.troubles[node] = Some(reason),
            }
        }
        let pairs = (0..self.request.pairs).map(|pair| [2 * pair, 2 * pair + 1]);
        let whole = |pair: &[usize; 2]| pair.iter().all(|&node| found.troubles[node].is_none());
        found.pairs = pairs.filter(whole).collect();
        Ok(())
    }

    /// Measures all points until a copy fails or the user interrupts. Calls `tell` with a line of
    /// progress before each round.
    pub fn measure(&mut self, tell: &mut dyn FnMut(String)) -> io::Result<()> {
        let request = self.request;
        let pairs = self.findings.pairs.len();
        let points = request.sizes.iter().enumerate().flat_map(|(place, size)| {
            let remote = request.remote.iter().filter(move |&&remote| remote <= pairs);
            remote.map(move |&remote| (place, size, remote))
        });
        for (place, (text, size), remote) in points {
            if pairs == 0 || self.findings.interrupted {
                break;
            }
            self.findings.points.push(Measured { size: place, remote, rounds: Vec::new() });
            for number in 0..request.rounds {
                tell(format!(
                    "measuring: {text}, {remote} of {pairs} copies remote, round {} of {}",
                    number + 1,
                    request.rounds
                ));
                if !self.round(*size, remote, usize::from(number))? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Runs one round of the current point; `number` is its index. Returns false if a copy failed
    /// or the user interrupted.
    fn round(&mut self, size: u64, remote: usize, number: usize) -> io::Result<bool> {
        let backwards = number % 2 == 1;
        let job = RoundJob {
            errands: errands(&self.findings.pairs, remote, number),
            layout: match self.request.block {
                Some(block_size) => Layout { length: size, block_size, open: false },
                None => Layout::fitting(size),
            },
            cold: self.request.cold,
            path: self.request.path.clone(),
            fsync: self.request.fsync,
            sealed: self.request.sealed,
            congestion: tcp::PREFERRED.map(str::to_owned).to_vec(),
            mptcp: self.mptcp,
        };
        let course = self.exchange.round(&job)?;
        match &course.end {
            PairEnd::Done => {
                if let Some(point) = self.findings.points.last_mut() {
                    point.rounds.push(Round { backwards, errands: job.errands, course });
                }
                return Ok(true);
            }
            PairEnd::Failed(node, reason) => {
                self.findings.troubles[*node].get_or_insert(reason.clone());
                self.findings.dead[*node] = self.exchange.is_gone(*node);
            }
            PairEnd::Interrupted => self.findings.interrupted = true,
        }
        Ok(false)
    }

    /// Closes the channels to the agents and returns the findings. The agents then exit, and their
    /// test files, which have no names, are freed.
    pub fn into_findings(self) -> Findings {
        let mut findings = self.findings;
        findings.points.retain(|point| !point.rounds.is_empty());
        findings
    }
}

/// Returns the sender and the receiver of each pair's copy, which are the same node if the copy is
/// local. `remote` is the number of copies that are not local. The direction changes every round,
/// and the choice of remote pairs every second round.
fn errands(pairs: &[[usize; 2]], remote: usize, round: usize) -> Vec<CopyPair> {
    let first = round / 2;
    let turn = |(place, &[one, two]): (usize, &[usize; 2])| {
        let (from, partner) = if round % 2 == 1 { (two, one) } else { (one, two) };
        let is_remote = (place + pairs.len() - first % pairs.len()) % pairs.len() < remote;
        CopyPair { from, to: if is_remote { partner } else { from } }
    };
    pairs.iter().enumerate().map(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(remote: usize, round: usize) -> Vec<(usize, usize)> {
        let listed = errands(&[[0, 1], [2, 3], [4, 5]], remote, round);
        listed.iter().map(|errand| (errand.from, errand.to)).collect()
    }

    #[test]
    fn direction_changes_every_round_and_remote_pairs_every_second_round() {
        assert_eq!(told(0, 0), [(0, 0), (2, 2), (4, 4)]);
        assert_eq!(told(1, 0), [(0, 1), (2, 2), (4, 4)]);
        assert_eq!(told(1, 1), [(1, 0), (3, 3), (5, 5)]);
        assert_eq!(told(1, 2), [(0, 0), (2, 3), (4, 4)]);
        assert_eq!(told(2, 5), [(1, 0), (3, 3), (5, 4)]);
        assert_eq!(told(3, 7), [(1, 0), (3, 2), (5, 4)]);
    }
}
