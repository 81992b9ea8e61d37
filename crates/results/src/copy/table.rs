//! Prints the result of a copy. It has no rows of nodes: each line begins with a word of up to
//! seven letters, and names the nodes that it is true of.

use std::collections::BTreeMap;
use std::fmt;

use garland_core::cluster::nodelist;
use garland_core::units::{Nanos, Rate, bytes};
use garland_protocol::copy::Slow;
use garland_terminal::verdicts::folded;

use super::{CopyResult, FaultResult, NodeResult};
use crate::copy_outcome::UnreadPart;
use crate::left_out::SHOWN_MAX;
use crate::limit::Limit;
use crate::names::HolderShare;
use crate::tree::TreeResult;

/// The length in bytes below which the table shows no rates: the time is that of the set-up.
const TINY: u64 = 1 << 20;

impl fmt::Display for CopyResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ok = self.nodes.iter().filter(|node| node.end.is_ok()).count();
        writeln!(
            f,
            "{} {} {ok} of {} nodes in {}",
            bytes::format(self.bytes),
            self.direction.preposition(),
            self.nodes.len(),
            Nanos(self.head.elapsed_ns)
        )?;
        self.write_rates(f)?;
        let phases = self.head.phases.iter().filter(|phase| phase.ns > 0);
        let phases: Vec<String> =
            phases.map(|phase| format!("{} {}", phase.name, Nanos(phase.ns))).collect();
        writeln!(f, "time    {}", phases.join(" · "))?;
        if !self.fed_here.is_empty() {
            let names = nodelist::fold(&self.fed_here);
            writeln!(f, "star    {names}: fed by this machine, since no other node reaches them")?;
        }
        self.write_verdicts(f)?;
        self.write_links(f)?;
        self.write_already(f)?;
        self.write_removed(f)?;
        self.write_read_back(f)?;
        self.tree.iter().try_for_each(|tree| write!(f, "{tree}"))?;
        f.write_str(&HolderShare::table(&self.holders))?;
        for fault in &self.faults {
            let FaultResult { block, from, to } = fault;
            let what = match block {
                Some(block) => format!("block {block}"),
                None => "a frame".to_owned(),
            };
            writeln!(f, "fault   {what} changed between {from} and {to}; sent again")?;
        }
        if !self.faults_cut_short.is_empty() {
            let names = nodelist::fold(&self.faults_cut_short);
            writeln!(f, "fault   {names} reported more than are kept; the others are not listed")?;
        }
        let has_received_some = |node: &NodeResult| !node.end.is_ok() && node.bytes > 0;
        if self.in_place && self.nodes.iter().any(has_received_some) {
            writeln!(f, "note    a device, a pipe or a command keeps the bytes it has received")?;
        }
        let run = self.head.run.as_deref().unwrap_or_default();
        let is_cut_short = self.tree.as_ref().is_some_and(TreeResult::is_cut_short)
            || self.nodes.iter().any(|node| node.missed > SHOWN_MAX as u64);
        if is_cut_short {
            writeln!(f, "all     garland runs show {run}")?;
        }
        writeln!(f, "run     {run}")
    }
}

impl CopyResult {
    /// Writes the rates of the copy, and how much of the limit it reached.
    fn write_rates(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = Rate::from_bytes_per_second;
        let is_measured = self.already == 0 && self.bytes >= TINY;
        let rates = self.rate.zip(self.stream_rate).filter(|_| is_measured);
        if let Some((rate, stream)) = rates {
            writeln!(f, "rate    {} whole command, {} stream", shown(rate), shown(stream))?;
        }
        let at_end: u64 = self.nodes.iter().map(|node| node.bytes).sum();
        let is_ok = self.nodes.iter().any(|node| node.end.is_ok());
        let sends = |sent: &u64| is_ok && (1..self.bytes).contains(sent) && self.already < at_end;
        if let Some(sent) = self.sent_bytes.filter(sends) {
            let less = 100.0 - 100.0 * sent as f64 / self.bytes as f64;
            let [sent, all] = [sent, self.bytes].map(bytes::format);
            writeln!(f, "sent    {sent} in place of {all}, {less:.1} % less")?;
        }
        if let Some(Limit { rate, source, achieved: Some(achieved), .. }) = &self.head.limit
            && self.bytes >= TINY
        {
            let achieved = achieved * 100.0;
            writeln!(f, "limit   {achieved:.1} % of {}, {source}", shown(*rate))?;
        }
        Ok(())
    }

    /// Groups the names of nodes by `amount`; omits nodes whose amount is 0.
    fn groups(&self, amount: fn(&NodeResult) -> u64) -> BTreeMap<u64, Vec<&str>> {
        let mut groups: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for node in self.nodes.iter().filter(|node| amount(node) > 0) {
            groups.entry(amount(node)).or_default().push(&node.name);
        }
        groups
    }

    /// Writes how often links to nodes were opened again, the largest numbers first.
    fn write_links(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.groups(|node| node.reopened.into()).iter().rev().try_for_each(|(reopened, names)| {
            let times = match reopened {
                1 => "once".to_owned(),
                _ => format!("{reopened} times"),
            };
            writeln!(f, "links   {}: opened again {times} after a break", nodelist::fold(names))
        })
    }

    /// Writes how many directory entries the nodes have removed, the largest numbers first.
    fn write_removed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.groups(|node| node.removed).iter().rev().try_for_each(|(removed, names)| {
            let what = if *removed == 1 { "name" } else { "names" };
            writeln!(f, "removed {}: {removed} {what}", nodelist::fold(names))
        })
    }

    /// Writes how many bytes nodes had before the copy, or read from a shared file system.
    fn write_already(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        let groups = self.groups(|node| node.already);
        if let Some(all) = groups.get(&self.bytes)
            && self.nodes.iter().all(|node| !node.end.is_ok() || node.already == self.bytes)
        {
            let every = if all.len() == self.nodes.len() && all.len() > 1 { "all " } else { "" };
            let have = if all.len() == 1 { "has" } else { "have" };
            return writeln!(f, "nothing to send: {every}{} {have} it", nodelist::fold(all));
        }
        for (already, names) in groups.iter().rev().take(SHOWN) {
            let names = nodelist::fold(names);
            let already = bytes::format(*already);
            match self.shared {
                true => writeln!(f, "read    {names}: {already} from the shared file system")?,
                false => writeln!(f, "already {names}: {already}")?,
            }
        }
        for UnreadPart { node, reason } in &self.unread {
            writeln!(f, "unread  {node}: {reason}; this machine read its part")?;
        }
        if let Some(more) = groups.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            writeln!(f, "already and {more} other amounts (see --json for each node)")?;
        }
        if !self.unusable.is_empty() {
            let names = nodelist::fold(&self.unusable);
            writeln!(
                f,
                "left    {names}: the partial file of an interrupted copy could not be used, and was removed"
            )?;
        }
        Ok(())
    }

    /// Writes which nodes read their file back from its medium and found it equal to the source.
    fn write_read_back(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verified: Vec<&str> =
            self.nodes.iter().filter(|node| node.verified).map(|node| node.name.as_str()).collect();
        if verified.is_empty() {
            return Ok(());
        }
        writeln!(f, "medium  {}: read back, and equal to the source", nodelist::fold(&verified))
    }

    fn write_verdicts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.nodes.iter();
        let verdicts = nodes.map(|node| node.end.of(&node.name));
        f.write_str(&folded(verdicts))?;
        let late: Vec<&str> =
            self.nodes.iter().filter(|node| node.detached).map(|node| node.name.as_str()).collect();
        if !late.is_empty() {
            writeln!(
                f,
                "slow    {}: detached, since its disk was slower than those of the other nodes",
                nodelist::fold(&late)
            )?;
        }
        for node in &self.nodes {
            let Some(Slow { rate, others }) = node.slow.filter(|_| node.end.is_ok()) else {
                continue;
            };
            let shown = Rate::from_bytes_per_second;
            writeln!(
                f,
                "slow    {}: fed on the side, since it received {} and the others {}",
                node.name,
                shown(rate),
                shown(others)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::SCHEMA;
    use super::*;

    /// The table of a copy to `nodes`, of which each has some fields.
    fn table(nodes: &[serde_json::Value]) -> String {
        let result = serde_json::json!({
            "schema": SCHEMA, "run": "r", "command": [], "elapsed_ns": 0, "phases": [],
            "limit": null, "bytes": 9, "in_place": true, "sent_bytes": null, "rate": null,
            "stream_rate": null, "congestion": null, "nodes": nodes, "tree": null,
        });
        serde_json::from_value::<CopyResult>(result).unwrap().to_string()
    }

    #[test]
    fn links_are_told_if_one_was_opened_again() {
        let shown = |links: [u32; 4]| {
            let node = |(number, links): (usize, u32)| {
                let name = format!("n{number}");
                serde_json::json!({ "name": name, "verdict": "ok", "rate": null, "reopened": links })
            };
            let nodes: Vec<_> = (1..).zip(links).map(node).collect();
            let text = table(&nodes);
            let lines = text.lines().filter(|line| line.starts_with("links"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(shown([0; 4]), Vec::<String>::new());
        let wanted = [
            "links   n[2,4]: opened again 3 times after a break",
            "links   n1: opened again once after a break",
        ];
        assert_eq!(shown([1, 3, 0, 3]), wanted);
    }

    #[test]
    fn bytes_that_a_device_keeps_are_told_if_it_has_received_some() {
        let shown = |bytes: u64| {
            let node = serde_json::json!({
                "name": "n1", "verdict": "failed", "reason": "why", "bytes": bytes, "rate": null,
            });
            table(&[node])
        };
        assert!(!shown(0).contains("keeps the bytes"), "{}", shown(0));
        assert!(shown(4).contains("keeps the bytes"), "{}", shown(4));
    }
}
