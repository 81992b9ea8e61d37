//! What the answers of several keepers say about records: values without channels and clocks.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use garland_protocol::copy::content_digest;
use garland_protocol::names::{HOLDERS_MAX, NameEntry, NameHolder, NameRecord};
use garland_protocol::operation::NamesAnswer;

/// The answer or error of a keeper.
pub type Answer = Result<NamesAnswer, String>;

/// What became of a record that keepers were told to keep.
#[derive(Debug, PartialEq, Eq)]
pub enum Keeping {
    /// As many keepers have it as are needed.
    Kept(Keeps),
    /// Fewer keepers have it: those that were away may outvote them.
    TooFew(Keeps),
    /// A keeper has a newer one: this one is not valid, whoever took it.
    Superseded(NameRecord),
}

/// Which keepers have a record, by their numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Keeps {
    /// Those that have it.
    pub kept: Vec<usize>,
    /// Those that do not have it.
    pub refused: Vec<Refusal>,
}

/// A keeper that does not have a record, by its number, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub keeper: usize,
    pub reason: String,
}

/// An entry that is to be handed over to other keepers.
#[derive(Debug, PartialEq, Eq)]
pub struct Due<'a> {
    pub entry: &'a NameEntry,
    /// Whether enough of them say that they have it.
    pub is_safe: bool,
}

/// Which keepers have sent a manifest, by their numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Manifests {
    /// The first one that has sent the one that was asked for.
    pub sound: Option<usize>,
    /// Those that have sent another one.
    pub other: Vec<usize>,
}

/// Returns which keepers have sent the manifest with the digest `root`.
pub fn manifests(answers: &[Answer], root: &[u8; 32]) -> Manifests {
    let mut found = Manifests::default();
    for (keeper, answer) in answers.iter().enumerate() {
        let Ok(answer) = answer else { continue };
        match content_digest(&answer.manifest) == *root {
            true => found.sound = found.sound.or(Some(keeper)),
            false => found.other.push(keeper),
        }
    }
    found
}

/// Returns how many of `count` keepers have to have a record so that it is kept: any two groups of
/// so many have one in common, who knows the newer of two records.
pub fn majority(count: usize) -> usize {
    count / 2 + 1
}

/// Returns the newest entry of each name. Equal ones have the holders of all, first those that are
/// `known`.
pub fn newest<'a>(
    answers: impl Iterator<Item = &'a Answer>,
    known: impl Fn(&str) -> bool,
) -> BTreeMap<String, NameEntry> {
    let mut found: BTreeMap<&String, Vec<&NameEntry>> = BTreeMap::new();
    for (name, entry) in answers.flatten().flat_map(|answer| &answer.entries) {
        match found.get_mut(name) {
            Some(equal) if equal[0].record == entry.record => equal.push(entry),
            Some(known) if known[0].record.is_newer_than(&entry.record) => {}
            _ => drop(found.insert(name, vec![entry])),
        }
    }
    found.into_iter().map(|(name, equal)| (name.clone(), merged(&equal, &known))).collect()
}

/// Returns the entry of equal records with the holders of all, in turns: they are not signed, and a
/// keeper that tells many leaves room for those of the others. Nodes that are not `known`, which a
/// keeper may have invented, take no place of those that are.
fn merged(equal: &[&NameEntry], known: impl Fn(&str) -> bool) -> NameEntry {
    let longest = equal.iter().map(|entry| entry.holders.len()).max().unwrap_or(0);
    let in_turns = (0..longest)
        .flat_map(|place| equal.iter().filter_map(move |entry| entry.holders.get(place)));
    let mut in_turns: Vec<&NameHolder> = in_turns.collect();
    in_turns.sort_by_cached_key(|holder| !known(&holder.node));
    let mut holders: Vec<NameHolder> = Vec::new();
    for holder in in_turns {
        let is_same = |it: &NameHolder| (&it.node, it.kind) == (&holder.node, holder.kind);
        if holders.len() < HOLDERS_MAX && !holders.iter().any(is_same) {
            holders.push(holder.clone());
        }
    }
    NameEntry { record: equal[0].record.clone(), holders }
}

/// Returns the nodes that fetch a content, as most keepers know them, the one that began last at
/// the end. Each of `lists` is in the order in which nodes told one keeper. What counts of a node
/// is the place in the middle of those that the keepers give it, counted from the end, and a keeper
/// that does not name it gives it none: so one of three keepers neither adds nor removes a node
/// that the other two name, nor moves it beyond the places that these give it.
pub fn fetching<'a>(lists: &[&'a [NameHolder]]) -> Vec<&'a NameHolder> {
    let place = |list: &[NameHolder], node: &NameHolder| {
        list.iter().rev().position(|it| it == node).unwrap_or(usize::MAX)
    };
    let mut nodes: Vec<(usize, &NameHolder)> = Vec::new();
    for node in lists.iter().flat_map(|list| list.iter()) {
        let mut places: Vec<usize> = lists.iter().map(|list| place(list, node)).collect();
        places.sort_unstable();
        let middle = places[places.len() / 2];
        if middle != usize::MAX && !nodes.contains(&(middle, node)) {
            nodes.push((middle, node));
        }
    }
    nodes.sort_by_key(|(place, holder)| (Reverse(*place), &holder.node, &holder.path));
    nodes.into_iter().map(|(_, holder)| holder).collect()
}

/// Returns whether a keeper has answered and lacks the record of `entry`.
pub fn lacks(answer: &Answer, entry: &NameEntry) -> bool {
    answer.is_ok() && !has(answer, entry)
}

/// Returns whether a keeper says that it has the record of an entry.
pub fn has(answer: &Answer, entry: &NameEntry) -> bool {
    let Ok(answer) = answer else { return false };
    let known = answer.entries.get(entry.record.name());
    known.is_some_and(|known| known.record == entry.record)
}

/// Returns how many of the keepers that answer say that they have an entry's record.
fn have(answers: &[Answer], entry: &NameEntry) -> usize {
    answers.iter().filter(|answer| has(answer, entry)).count()
}

/// Returns those of the entries `found` that some of the next keepers lack, by their `answers`.
/// What an earlier command handed over takes no time of this one. Those names that the `needed`
/// number of them have, whatever a minority says, come last: they are safe if there is no time for
/// them.
pub fn due<'a>(
    found: impl Iterator<Item = &'a NameEntry>,
    answers: &[Answer],
    needed: usize,
) -> Vec<Due<'a>> {
    let answering = answers.iter().filter(|answer| answer.is_ok()).count();
    let mut due = Vec::new();
    for entry in found {
        let having = have(answers, entry);
        let is_safe = having >= needed;
        if !is_safe || having < answering {
            due.push(Due { entry, is_safe });
        }
    }
    due.sort_by_key(|it| it.is_safe);
    due
}

/// Returns what became of `record`, which `needed` keepers have to have, by the answers of keepers
/// with their numbers.
pub fn kept<'a>(
    record: &NameRecord,
    needed: usize,
    answers: impl Iterator<Item = (usize, &'a Answer)>,
) -> Keeping {
    let mut keeps = Keeps::default();
    let mut newest: Option<&NameRecord> = None;
    for (keeper, answer) in answers {
        let valid = answer.as_ref().map(|answer| answer.kept.as_ref());
        let refusal = |reason: &str| Refusal { keeper, reason: reason.to_owned() };
        match valid {
            Ok(Some(valid)) if valid == record => keeps.kept.push(keeper),
            Ok(Some(valid)) if valid.name() == record.name() && valid.is_newer_than(record) => {
                if newest.is_none_or(|newest| valid.is_newer_than(newest)) {
                    newest = Some(valid);
                }
            }
            Ok(_) => keeps.refused.push(refusal("it has another record")),
            Err(reason) => keeps.refused.push(refusal(reason)),
        }
    }
    match newest {
        Some(newest) => Keeping::Superseded(newest.clone()),
        None if keeps.kept.len() < needed => Keeping::TooFew(keeps),
        None => Keeping::Kept(keeps),
    }
}

#[cfg(test)]
mod tests;
