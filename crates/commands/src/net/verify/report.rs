//! The result of `garland net verify`: a table of links, findings, and unreachable nodes.

use std::collections::BTreeSet;
use std::fmt;

use garland_results::head::{Head, NodeEnd, NodeVerdict};
use garland_terminal::failure::Exit;
use garland_terminal::verdicts::folded;
use garland_topology::verify::{Cabling, Finding, Observed, Port, RateSeen};
use garland_topology::{MediumKind, NicId, NicName, Topology};
use serde::Serialize;

use super::outcome::{Evidence, SurveyOutcome};

/// The most findings of one kind that are printed; all are in the result object.
const MAX_PRINTED_FINDINGS: usize = 12;

/// The result object `garland.net-verify/2`.
#[derive(Serialize)]
pub struct VerifyResult {
    #[serde(flatten)]
    pub head: Head,
    pub topology: String,
    pub evidence: Evidence,
    pub nodes: Vec<NodeResult>,
    pub links: Vec<LinkResult>,
    pub pairs: usize,
    pub all_pairs: usize,
    pub findings: Vec<VerifyFinding>,
}

/// The verdict of a node.
#[derive(Serialize)]
pub struct NodeResult {
    pub name: String,
    #[serde(flatten)]
    pub end: NodeEnd,
}

/// A planned cable: a wire, or the cable from a NIC to its hub or switch.
#[derive(Serialize)]
pub struct LinkResult {
    pub nics: Vec<NicName>,
    pub medium: String,
    /// The NICs that were found at the other end instead of the planned ones; empty if none was
    /// found. `None` if the cable is as planned or nothing is known.
    pub found: Option<Vec<NicName>>,
    /// The measured rate in bits per second of TCP payload: of the slower direction of a wire, or
    /// of a NIC with its best peer. `None` if nothing was measured.
    pub measured: Option<f64>,
    pub planned: Option<f64>,
    /// The size in bytes of the largest packet that passed: in the worse direction of a wire, or
    /// between a NIC and its best peer. `None` if none passed.
    pub passes: Option<u16>,
    pub mtu: u16,
    pub verdict: String,
}

/// A finding with its text and hint.
#[derive(Serialize)]
pub struct VerifyFinding {
    #[serde(flatten)]
    finding: Finding,
    text: String,
    hint: &'static str,
}

impl From<Finding> for VerifyFinding {
    fn from(finding: Finding) -> Self {
        Self { text: finding.to_string(), hint: finding.hint(), finding }
    }
}

impl VerifyResult {
    /// Returns the exit code, which is [`Exit::Fault`] if there are findings.
    pub fn exit(&self) -> Exit {
        let failed = self.nodes.iter().filter(|node| !node.end.is_ok()).count();
        let has_fault = !self.findings.is_empty();
        Exit::of_check(has_fault, failed == 0, failed < self.nodes.len(), false)
    }
}

/// Returns the verdict of each node.
pub fn node_results(topology: &Topology, seen: &SurveyOutcome) -> Vec<NodeResult> {
    let nodes = topology.nodes.iter().zip(&seen.reasons);
    let result = nodes.map(|(node, reason)| NodeResult {
        name: node.name.clone(),
        end: NodeEnd::new(NodeVerdict::Failed, reason.clone()),
    });
    result.collect()
}

/// Returns the results of all planned cables.
pub fn links(
    topology: &Topology,
    observed: &Observed,
    cabling: &Cabling,
    findings: &[Finding],
) -> Vec<LinkResult> {
    let rows = Rows { topology, observed, cabling, findings };
    let nics = (0..topology.nics.len()).filter_map(|nic| {
        let medium = topology.nics[nic].medium;
        let wire = topology.media[medium].kind == MediumKind::Wire;
        let ends: Vec<NicId> = match wire {
            true => topology.stations(medium).map(|(id, _)| id).collect(),
            false => vec![nic],
        };
        // A wire has one row, by its first end.
        (ends.first() == Some(&nic)).then(|| rows.row(&ends))
    });
    nics.collect()
}

struct Rows<'a> {
    topology: &'a Topology,
    observed: &'a Observed,
    cabling: &'a Cabling,
    findings: &'a [Finding],
}

impl Rows<'_> {
    fn name(&self, nic: NicId) -> NicName {
        let port = self.cabling.ports.get(&nic);
        port.map_or_else(
            || NicName::from_topology(self.topology, nic),
            |port| port.name(self.topology),
        )
    }

    fn row(&self, ends: &[NicId]) -> LinkResult {
        let medium = self.topology.nics[ends[0]].medium;
        let of = |from: NicId, to: NicId| match ends {
            [one, two] => (from, to) == (*one, *two) || (from, to) == (*two, *one),
            _ => ends.contains(&from) || ends.contains(&to),
        };
        // A wire is judged by its worse direction, and a NIC on a hub or switch by its best peer:
        // worse results with other peers may be the fault of those peers.
        let wire = ends.len() > 1;
        let rates = self.observed.rates.iter().filter(|seen| of(seen.from, seen.to));
        let by_rate = |one: &&RateSeen, two: &&RateSeen| one.measured.total_cmp(&two.measured);
        let rate = if wire { rates.min_by(by_rate) } else { rates.max_by(by_rate) };
        let packets = self.observed.mtus.iter().filter(|seen| of(seen.from, seen.to));
        let packets = packets.filter_map(|seen| seen.passes);
        let names: Vec<NicName> = ends.iter().map(|nic| self.name(*nic)).collect();
        // Of a node that failed during the survey nothing is known, either.
        let unknown = ends.iter().any(|nic| {
            let node = self.topology.nics[*nic].node;
            !self.cabling.ports.contains_key(nic) || self.observed.nodes[node].is_none()
        });
        LinkResult {
            medium: self.topology.media[medium].name.clone(),
            found: self.elsewhere(ends),
            measured: rate.map(|seen| seen.measured),
            planned: rate.and_then(|seen| seen.planned),
            passes: if wire { packets.min() } else { packets.max() },
            mtu: ends.iter().map(|nic| self.topology.nics[*nic].mtu).min().unwrap_or_default(),
            verdict: self.verdict(&names, unknown),
            nics: names,
        }
    }

    /// Returns the NICs whose probes arrive at `ends` although the plan does not connect them;
    /// empty if no probes arrive. `None` if the cabling of `ends` is not at fault.
    fn elsewhere(&self, ends: &[NicId]) -> Option<Vec<NicName>> {
        if !ends.iter().any(|nic| self.cabling.accuses(*nic)) {
            return None;
        }
        let own: BTreeSet<&Port> =
            ends.iter().filter_map(|nic| self.cabling.ports.get(nic)).collect();
        let heard = self.observed.heard.iter().filter(|(listener, _)| own.contains(listener));
        let others: BTreeSet<&Port> =
            heard.map(|(_, sender)| sender).filter(|sender| !own.contains(sender)).collect();
        Some(others.into_iter().map(|port| port.name(self.topology)).collect())
    }

    fn verdict(&self, names: &[NicName], unknown: bool) -> String {
        let mut words: Vec<String> = Vec::new();
        for finding in self.findings {
            if finding.names().iter().any(|name| names.contains(name)) {
                let text = finding.to_string();
                let word = text.split(':').next().unwrap_or_default().to_owned();
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        match words.is_empty() {
            true if unknown => "not looked at".to_owned(),
            true => "ok".to_owned(),
            false => words.join(", "),
        }
    }
}

impl fmt::Display for VerifyResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = ["planned", "found", "Mbit/s", "planned", "MTU", "verdict"];
        let mut rows = vec![columns.map(str::to_owned)];
        rows.extend(self.links.iter().map(cells));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..columns.len()).map(|at| width(at).unwrap_or(0)).collect();
        for row in &rows {
            let [planned, found, measured, rate, mtu, verdict] = row;
            writeln!(
                f,
                "{planned:<0$}  {found:<1$}  {measured:>2$}  {rate:>3$}  {mtu:>4$}  {verdict}",
                widths[0], widths[1], widths[2], widths[3], widths[4]
            )?;
        }
        let pairs = self.pairs;
        let all = self.all_pairs;
        writeln!(f, "\nroutes were checked for {pairs} of {all} pairs of nodes")?;
        if self.evidence == Evidence::Datagrams {
            writeln!(
                f,
                "an agent is not permitted to send frames (CAP_NET_RAW): connections were detected by datagrams, \
                 which firewalls and bonds may suppress"
            )?;
        }
        let failed = self.nodes.iter().filter(|node| !node.end.is_ok());
        f.write_str(&folded(failed.map(|node| node.end.of(&node.name))))?;
        self.write_findings(f)
    }
}

impl VerifyResult {
    /// Writes the findings by kind, each kind with its hint.
    fn write_findings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.findings.is_empty() {
            return match self.exit() {
                Exit::Done => writeln!(f, "{}: as planned", self.topology),
                _ => writeln!(
                    f,
                    "{}: as planned, except for nodes that were not reached",
                    self.topology
                ),
            };
        }
        let mut hints: Vec<&str> = Vec::new();
        for finding in &self.findings {
            if !hints.contains(&finding.hint) {
                hints.push(finding.hint);
            }
        }
        for hint in hints {
            let all: Vec<&VerifyFinding> =
                self.findings.iter().filter(|finding| finding.hint == hint).collect();
            all.iter()
                .take(MAX_PRINTED_FINDINGS)
                .try_for_each(|finding| writeln!(f, "{}", finding.text))?;
            if let Some(more @ 1..) = all.len().checked_sub(MAX_PRINTED_FINDINGS) {
                writeln!(f, "... {more} more: --json")?;
            }
            writeln!(f, "  hint: {hint}")?;
        }
        let all = self.findings.len();
        let unmeasured = self.findings.iter().filter(|it| it.finding.is_unmeasured()).count();
        let faults = all - unmeasured;
        write!(f, "{}: {faults} fault{}", self.topology, if faults == 1 { "" } else { "s" })?;
        match unmeasured {
            0 => writeln!(f),
            1 => writeln!(f, "; 1 measurement is missing"),
            many => writeln!(f, "; {many} measurements are missing"),
        }
    }
}

fn cells(link: &LinkResult) -> [String; 6] {
    let names = |nics: &[NicName]| {
        let names: Vec<String> = nics.iter().map(NicName::to_string).collect();
        names.join(" - ")
    };
    let planned = match &link.nics[..] {
        [one] => format!("{one} - {}", link.medium),
        ends => names(ends),
    };
    let found = match &link.found {
        None if link.verdict == "not looked at" => "?".to_owned(),
        None => "as planned".to_owned(),
        Some(others) if others.is_empty() => "nothing".to_owned(),
        Some(others) if others.len() > 4 => format!("{} NICs", others.len()),
        Some(others) => names(others),
    };
    let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |bits| format!("{:.1}", bits / 1e6));
    let mtu = match link.passes {
        None => format!("-/{}", link.mtu),
        Some(passes) if passes == link.mtu => passes.to_string(),
        Some(passes) => format!("{passes}/{}", link.mtu),
    };
    let verdict = link.verdict.clone();
    [planned, found, rate(link.measured), rate(link.planned), mtu, verdict]
}
