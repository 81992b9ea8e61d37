//! Assembles the stripes of a file, and checks that the set is complete.

use std::cmp::Reverse;
use std::fmt;

use thiserror::Error;

use super::Manifest;

/// A manifest found on a node, and the stripe beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundStripe {
    /// The name of the node that has the files.
    pub node: String,
    /// The suffix of the stripe after the file's name: `.stripe-1of3`, or
    /// `.old-0123456789ab.stripe-1of3` while a newer copy replaces the stripe.
    pub suffix: String,
    /// The stripe's length in bytes; `None` if only the manifest exists.
    pub length: Option<u64>,
    /// The text of the manifest.
    pub text: String,
}

/// A complete set of the stripes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeSet {
    /// The manifest of one stripe; the manifests of the others differ only in the stripe's number.
    pub manifest: Manifest,
    /// The index of each stripe in the list of found stripes, in the order of the servers.
    pub stripes: Vec<usize>,
}

/// The error for missing or inconsistent stripes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StripeSetError {
    /// No node has a stripe.
    #[error("none of these nodes has stripes of the file")]
    Nothing,
    /// No manifest is valid, for these reasons.
    #[error("{0}")]
    Unreadable(String),
    /// The manifests on these two nodes belong to one copy, but differ.
    #[error(
        "the manifests on {0} and {1} belong to the same copy but differ: one of them was changed"
    )]
    Differ(String, String),
    /// Stripes are missing or unusable.
    #[error("the stripe set is incomplete: {}", .lacking.join("; "))]
    Incomplete {
        /// What is wrong with each of these stripes, and with each manifest that cannot be read.
        lacking: Vec<String>,
        /// The names of the nodes to which the set was written, in the order of its stripes.
        servers: Vec<String>,
    },
    /// Nodes have usable stripes of two copies, and not all of them show the newer one. Which copy
    /// is newer is only the word of the nodes that have it.
    #[error(
        "these nodes have stripes of different copies of the file: {} and {}", .0[0], .0[1]
    )]
    Several([ShownSet; 2]),
}

/// A set, and the nodes that have stripes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownSet {
    /// The identity of the copy.
    pub set: [u8; 16],
    /// The names of the nodes, in the order in which they were found.
    pub nodes: Vec<String>,
}

impl fmt::Display for ShownSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.nodes.len() == 1 { "has" } else { "have" };
        write!(f, "{} {verb} set ", self.nodes.join(","))?;
        // As in the names of stripes that are set aside.
        self.set[..6].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The start of the suffix of a stripe that a newer copy has set aside. The tag of that copy
/// follows: `.old-0123456789ab.stripe-1of3`.
pub const ASIDE: &str = ".old-";

impl FoundStripe {
    /// Splits the suffix at `.stripe-`. The first part is `.old-` and a tag if a newer copy has set
    /// the stripe aside, otherwise it is empty.
    fn parts(&self) -> (&str, &str) {
        let at = if self.suffix.starts_with(ASIDE) { self.suffix.find(".stripe-") } else { None };
        self.suffix.split_at(at.unwrap_or(0))
    }

    /// Returns the part of the suffix before `.stripe-1of3`; empty unless a newer copy has set this
    /// stripe aside.
    pub fn aside(&self) -> &str {
        self.parts().0
    }
}

/// The manifests of one copy, each with its index in the list of found stripes.
struct Candidate<'a> {
    found: &'a [FoundStripe],
    read: Vec<(usize, Manifest)>,
}

impl StripeSet {
    /// Returns the newest set if it is complete. Otherwise returns the newest older set that is
    /// complete and that a newer copy has begun to replace: a set is kept until all servers have
    /// the newer one.
    ///
    /// # Errors
    /// If there is no set, parts of it are missing, or a node has a stripe of another set and none
    /// of this one: a set does not become the newest by the word of some of the nodes.
    pub fn assemble(found: &[FoundStripe]) -> Result<Self, StripeSetError> {
        let mut read = Vec::new();
        let mut unreadable = Vec::new();
        for (place, stripe) in found.iter().enumerate() {
            match Manifest::parse(&stripe.text) {
                Ok(manifest) => read.push((place, manifest)),
                Err(error) => {
                    let FoundStripe { node, suffix, .. } = stripe;
                    unreadable.push(format!("the manifest {suffix}.toml on {node}: {error}"));
                }
            }
        }
        let listed = Candidate::all(found, read);
        let mut candidates = listed.iter();
        let Some(newest) = candidates.next() else {
            return Err(match unreadable.is_empty() {
                true => StripeSetError::Nothing,
                false => StripeSetError::Unreadable(unreadable.join("; ")),
            });
        };
        let error = match newest.assemble() {
            Ok(set) => return set.unless_contradicted(&listed),
            Err(error) => error,
        };
        // Use an older set only if the newer one is known to be unfinished.
        let sets = candidates.filter_map(|older| older.assemble().ok());
        let mut unfinished = sets.filter(|set| set.has_aside(found));
        match (unfinished.next(), error) {
            (Some(set), _) => set.unless_contradicted(&listed),
            (None, StripeSetError::Incomplete { mut lacking, servers }) => {
                lacking.extend(unreadable);
                Err(StripeSetError::Incomplete { lacking, servers })
            }
            (None, error) => Err(error),
        }
    }

    /// Returns the set unless a node that shows no stripe of it has a usable stripe of another.
    fn unless_contradicted(self, all: &[Candidate<'_>]) -> Result<Self, StripeSetError> {
        let is_own = |it: &&Candidate<'_>| it.read[0].1.set == self.manifest.set;
        let own: Vec<String> = all.iter().filter(is_own).flat_map(Candidate::nodes).collect();
        for other in all.iter().filter(|it| !is_own(it)) {
            if other.nodes_in_use().any(|node| !own.contains(node)) {
                let other = ShownSet { set: other.read[0].1.set, nodes: other.nodes() };
                let own = ShownSet { set: self.manifest.set, nodes: own };
                return Err(StripeSetError::Several([own, other]));
            }
        }
        Ok(self)
    }

    /// Returns whether a newer copy has set any stripe of the set aside.
    pub fn has_aside(&self, found: &[FoundStripe]) -> bool {
        self.stripes.iter().any(|place| !found[*place].aside().is_empty())
    }
}

impl<'a> Candidate<'a> {
    /// Returns a candidate for each copy, newest first. Copies whose stripes were all set aside
    /// come last.
    fn all(found: &'a [FoundStripe], read: Vec<(usize, Manifest)>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (place, manifest) in read {
            match all.iter_mut().find(|it| it.read[0].1.set == manifest.set) {
                Some(candidate) => candidate.read.push((place, manifest)),
                None => all.push(Self { found, read: vec![(place, manifest)] }),
            }
        }
        all.sort_by_key(|it| {
            let is_aside = it.read.iter().all(|(place, _)| !found[*place].aside().is_empty());
            (is_aside, Reverse(it.read[0].1.written))
        });
        all
    }

    /// Returns the name of each node that has a manifest of the copy, once.
    fn nodes(&self) -> Vec<String> {
        let mut nodes: Vec<String> = Vec::new();
        for (place, _) in &self.read {
            let node = &self.found[*place].node;
            if !nodes.contains(node) {
                nodes.push(node.clone());
            }
        }
        nodes
    }

    /// Returns the names of the nodes that have a complete stripe of the copy which no newer copy
    /// has set aside.
    fn nodes_in_use(&self) -> impl Iterator<Item = &String> {
        let in_use = self.read.iter().filter(|(place, manifest)| {
            let stripe = &self.found[*place];
            stripe.aside().is_empty() && fault(stripe, manifest).is_none()
        });
        in_use.map(|(place, _)| &self.found[*place].node)
    }

    fn assemble(&self) -> Result<StripeSet, StripeSetError> {
        let found = self.found;
        let read = &self.read;
        let (first, newest) = &read[0];
        if let Some((place, _)) = read.iter().find(|(_, manifest)| !manifest.agrees(newest)) {
            let node = |place: usize| found[place].node.clone();
            return Err(StripeSetError::Differ(node(*first), node(*place)));
        }
        let mut stripes = Vec::new();
        let mut lacking = Vec::new();
        for number in 0..newest.stripes.servers {
            // Nodes that share a file system all see all stripes.
            let written_to = &newest.servers[usize::from(number)].name;
            let mut here: Vec<_> =
                read.iter().filter(|(_, manifest)| manifest.number == number).collect();
            here.sort_by_key(|(place, manifest)| {
                let stripe = &found[*place];
                let is_elsewhere = stripe.node != *written_to;
                // What was set aside is what its manifest says. The stripe under its usual name may
                // be the newer one already, if power failed before its manifest followed.
                (is_elsewhere, fault(stripe, manifest).is_some(), stripe.aside().is_empty())
            });
            let stripe = format!("stripe {} of {}", number + 1, newest.stripes.servers);
            let Some((place, manifest)) = here.first() else {
                lacking.push(format!("{stripe} is missing (written to {written_to})"));
                continue;
            };
            stripes.push(*place);
            lacking.extend(fault(&found[*place], manifest).map(|why| format!("{stripe}: {why}")));
        }
        if lacking.is_empty() {
            return Ok(StripeSet { manifest: newest.clone(), stripes });
        }
        let servers = newest.servers.iter().map(|server| server.name.clone()).collect();
        Err(StripeSetError::Incomplete { lacking, servers })
    }
}

/// Returns why a stripe cannot be used; `None` if it is complete.
fn fault(found: &FoundStripe, manifest: &Manifest) -> Option<String> {
    let FoundStripe { node, suffix, length, .. } = found;
    let stripe = manifest.stripe();
    let wanted = stripe.length(manifest.stripes.length);
    if stripe.suffix() != found.parts().1 {
        return Some(format!("the manifest on {node} has the name of another stripe: {suffix}"));
    }
    match length {
        None => Some(format!("{node} has only its manifest")),
        Some(length) if *length != wanted => Some(format!("{node} has {length} of {wanted} bytes")),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{StripeServer, Stripes};
    use super::*;

    fn found(node: u8, number: u16, set: u8) -> FoundStripe {
        let stripes = Stripes::new(10_000, 4096, 2).unwrap();
        let server = |at: u8| StripeServer { name: format!("io{at}"), digest: [at; 32] };
        let manifest = Manifest {
            set: [set; 16],
            written: i64::from(set),
            name: "x".to_owned(),
            mode: 0o644,
            modified: (0, 0),
            stripes,
            layout: stripes.layout(4096).unwrap(),
            servers: vec![server(1), server(2)],
            number,
        };
        let stripe = manifest.stripe();
        FoundStripe {
            node: format!("io{node}"),
            suffix: stripe.suffix(),
            length: Some(stripe.length(10_000)),
            text: manifest.to_string(),
        }
    }

    fn refused(found: &[FoundStripe]) -> String {
        StripeSet::assemble(found).unwrap_err().to_string()
    }

    #[test]
    fn stripes_are_put_in_order_and_old_sets_left_alone() {
        let set = StripeSet::assemble(&[found(2, 1, 9), found(1, 0, 3), found(1, 0, 9)]).unwrap();
        assert_eq!((set.stripes, set.manifest.set), (vec![2, 0], [9; 16]));
    }

    /// A stripe that a newer copy is replacing.
    fn aside(node: u8, number: u16, set: u8) -> FoundStripe {
        let there = found(node, number, set);
        FoundStripe { suffix: format!("{ASIDE}0123456789ab{}", there.suffix), ..there }
    }

    #[test]
    fn the_older_set_counts_until_the_newer_one_is_whole() {
        let set = |found: &[FoundStripe]| {
            let set = StripeSet::assemble(found).unwrap();
            (set.manifest.set[0], set.stripes.clone(), set.has_aside(found))
        };
        // The first server has committed, the second has not.
        assert_eq!(set(&[aside(1, 0, 3), found(1, 0, 9), found(2, 1, 3)]), (3, vec![0, 2], true));
        // The first server is about to commit, or lost power when only its stripe was the newer
        // one.
        assert_eq!(set(&[aside(1, 0, 3), found(1, 0, 3), found(2, 1, 3)]), (3, vec![0, 2], true));
        let gone = FoundStripe { length: None, ..found(1, 0, 3) };
        assert_eq!(set(&[aside(1, 0, 3), gone, found(2, 1, 3)]), (3, vec![0, 2], true));
        // Both have committed, and stripes of the older set remain, whatever the clocks say.
        let old = [aside(1, 0, 3), aside(2, 1, 3), found(1, 0, 9), found(2, 1, 9)];
        assert_eq!(set(&old), (9, vec![2, 3], false));
        assert_eq!(set(&old[1..]), (9, vec![1, 2], false));
        let later = [aside(1, 0, 9), aside(2, 1, 9), found(1, 0, 3), found(2, 1, 3)];
        assert_eq!(set(&later), (3, vec![2, 3], false));
        // Both are about to commit.
        assert_eq!(set(&[aside(1, 0, 3), aside(2, 1, 3)]), (3, vec![0, 1], true));
        // A stripe that is lost for another reason does not bring an older set back.
        assert!(
            refused(&[found(1, 0, 9), aside(1, 0, 3)]).starts_with("the stripe set is incomplete")
        );
    }

    #[test]
    fn one_node_cannot_replace_a_file_by_a_newer_set_of_its_own() {
        let alone = |node: u8, set: u8| {
            let stripes = Stripes::new(10_000, 4096, 1).unwrap();
            let there = found(node, 0, set);
            let mut manifest = Manifest::parse(&there.text).unwrap();
            manifest.servers.truncate(1);
            (manifest.stripes, manifest.layout) = (stripes, stripes.layout(4096).unwrap());
            let suffix = manifest.stripe().suffix();
            FoundStripe { suffix, length: Some(10_000), text: manifest.to_string(), ..there }
        };
        let refused = |found: &[FoundStripe]| match StripeSet::assemble(found) {
            Err(StripeSetError::Several(sets)) => sets.map(|set| set.nodes.join(",")),
            other => panic!("{other:?}"),
        };
        // The other server shows a stripe of another set, whether or not that set is complete.
        assert_eq!(refused(&[alone(1, 99), found(1, 0, 9), found(2, 1, 9)]), ["io1", "io1,io2"]);
        assert_eq!(refused(&[alone(1, 99), found(2, 1, 9)]), ["io1", "io2"]);
        insta::assert_snapshot!(self::refused(&[alone(1, 99), found(2, 1, 9)]), @"these nodes have stripes of different copies of the file: io1 has set 636363636363 and io2 has set 090909090909");
        // A set that all nodes show replaces an older one that one of them still has.
        let set = StripeSet::assemble(&[alone(1, 3), found(1, 0, 9), found(2, 1, 9)]).unwrap();
        assert_eq!((set.stripes, set.manifest.set), (vec![1, 2], [9; 16]));
        assert_eq!(StripeSet::assemble(&[alone(1, 99)]).unwrap().manifest.set, [99; 16]);
    }

    #[test]
    fn what_lacks_is_said_with_its_node() {
        assert_eq!(refused(&[]), "none of these nodes has stripes of the file");
        insta::assert_snapshot!(refused(&[found(1, 0, 9), found(2, 1, 3)]), @"the stripe set is incomplete: stripe 2 of 2 is missing (written to io2)");
        let short = FoundStripe { length: Some(5), ..found(1, 0, 9) };
        let gone = FoundStripe { length: None, ..found(2, 1, 9) };
        insta::assert_snapshot!(refused(&[short, gone]), @"the stripe set is incomplete: stripe 1 of 2: io1 has 5 of 5904 bytes; stripe 2 of 2: io2 has only its manifest");
        let broken = FoundStripe { text: "version = 7".to_owned(), ..found(2, 1, 9) };
        insta::assert_snapshot!(refused(&[found(1, 0, 9), broken]), @"the stripe set is incomplete: stripe 2 of 2 is missing (written to io2); the manifest .stripe-2of2.toml on io2: version 7 is not supported: this garland reads version 1");
        let other = found(2, 1, 9);
        let text = other.text.replace("0o644", "0o600");
        insta::assert_snapshot!(refused(&[found(1, 0, 9), FoundStripe { text, ..other }]), @"the manifests on io1 and io2 belong to the same copy but differ: one of them was changed");
    }
}
