//! The rounds of a balance test: every size, every number of remote copies, in either direction.

use std::io;

use garland_control::{CopyPair, Exchange, PairEnd, PreparedFile, RoundJob, RoundOutcome};
use garland_core::plan::Layout;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;
use garland_sys::tcp;

use super::ask::BalanceRequest;

/// All rounds of one size and one number of remote copies.
pub struct Measured {
    /// The size's place among those that were asked for.
    pub size: usize,
    /// Remote copies.
    pub remote: usize,
    /// The rounds that were done.
    pub rounds: Vec<Round>,
}

/// One round.
pub struct Round {
    /// From the second of each pair to the first.
    pub backwards: bool,
    /// Who copied to whom.
    pub errands: Vec<CopyPair>,
    /// How it went.
    pub course: RoundOutcome,
}

/// What a series has found.
pub struct Findings {
    /// The nodes.
    pub names: Vec<String>,
    /// The pairs that could be measured, by their nodes' places.
    pub pairs: Vec<[usize; 2]>,
    /// What each node's file lies on, once it is there.
    pub stocked: Vec<Option<PreparedFile>>,
    /// Why a node has no part in it, or has none any more.
    pub troubles: Vec<Option<String>>,
    /// Whether its agent is gone.
    pub dead: Vec<bool>,
    /// The points, in their order.
    pub points: Vec<Measured>,
    /// Whether the user ended it.
    pub interrupted: bool,
}

/// A balance test under way.
pub struct Series<'a> {
    asked: &'a BalanceRequest,
    exchange: Exchange,
    transport: Transport,
    findings: Findings,
}

impl<'a> Series<'a> {
    /// A test among the nodes `names`; `absent` says why some have no agent.
    pub fn new(
        asked: &'a BalanceRequest,
        names: Vec<String>,
        exchange: Exchange,
        absent: Vec<Option<String>>,
        transport: Transport,
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
        Self { asked, exchange, transport, findings }
    }

    /// Has every node make its file; pairs of which one can't are left out.
    pub fn stock(&mut self, interrupts: &Interrupts) -> io::Result<()> {
        let found = &mut self.findings;
        let nodes: Vec<usize> =
            (0..found.names.len()).filter(|&node| found.troubles[node].is_none()).collect();
        let told = self.exchange.stock(
            &nodes,
            &self.asked.path,
            self.asked.longest(),
            Some(interrupts),
        )?;
        let Some(told) = told else {
            found.interrupted = true;
            return Ok(());
        };
        for (node, told) in nodes.into_iter().zip(told) {
            match told {
                Ok(stocked) => found.stocked[node] = Some(stocked),
                Err(reason) => found.troubles[node] = Some(reason),
            }
        }
        let pairs = (0..self.asked.pairs).map(|pair| [2 * pair, 2 * pair + 1]);
        let whole = |pair: &[usize; 2]| pair.iter().all(|&node| found.troubles[node].is_none());
        found.pairs = pairs.filter(whole).collect();
        Ok(())
    }

    /// Measures all points, until a copy can't be made or the user gives up; `tell` gets what is
    /// measured now.
    pub fn measure(
        &mut self,
        interrupts: &Interrupts,
        tell: &mut dyn FnMut(String),
    ) -> io::Result<()> {
        let asked = self.asked;
        let pairs = self.findings.pairs.len();
        let points = asked.sizes.iter().enumerate().flat_map(|(place, size)| {
            let remote = asked.remote.iter().filter(move |&&remote| remote <= pairs);
            remote.map(move |&remote| (place, size, remote))
        });
        for (place, (text, size), remote) in points {
            if pairs == 0 || self.findings.interrupted {
                break;
            }
            self.findings.points.push(Measured { size: place, remote, rounds: Vec::new() });
            for number in 0..asked.rounds {
                tell(format!(
                    "measuring: {text}, {remote} of {pairs} copies remote, round {} of {}",
                    number + 1,
                    asked.rounds
                ));
                if !self.round(*size, remote, usize::from(number), interrupts)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Makes one round of the last point; whether there is more to measure.
    fn round(
        &mut self,
        size: u64,
        remote: usize,
        number: usize,
        interrupts: &Interrupts,
    ) -> io::Result<bool> {
        let backwards = number % 2 == 1;
        let job = RoundJob {
            errands: errands(&self.findings.pairs, remote, number),
            layout: match self.asked.block {
                Some(block_size) => Layout { length: size, block_size, open: false },
                None => Layout::fitting(size),
            },
            cold: self.asked.cold,
            path: self.asked.path.clone(),
            fsync: self.asked.fsync,
            sealed: self.asked.sealed,
            congestion: tcp::PREFERRED.map(str::to_owned).to_vec(),
            transport: self.transport,
        };
        let course = self.exchange.round(&job, Some(interrupts))?;
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

    /// What was found, and the agents, which are of no more use.
    pub fn into_findings(self) -> (Findings, Exchange) {
        let mut findings = self.findings;
        findings.points.retain(|point| !point.rounds.is_empty());
        (findings, self.exchange)
    }
}

/// Who copies to whom when `remote` of the pairs' copies are: every second round in the other
/// direction, and after both others of them.
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
        let errands = errands(&[[0, 1], [2, 3], [4, 5]], remote, round);
        errands.iter().map(|errand| (errand.from, errand.to)).collect()
    }

    #[test]
    fn each_round_is_the_other_way_and_each_second_one_has_others_remote() {
        assert_eq!(told(0, 0), [(0, 0), (2, 2), (4, 4)]);
        assert_eq!(told(1, 0), [(0, 1), (2, 2), (4, 4)]);
        assert_eq!(told(1, 1), [(1, 0), (3, 3), (5, 5)]);
        assert_eq!(told(1, 2), [(0, 0), (2, 3), (4, 4)]);
        assert_eq!(told(2, 5), [(1, 0), (3, 3), (5, 4)]);
        assert_eq!(told(3, 7), [(1, 0), (3, 2), (5, 4)]);
    }
}
