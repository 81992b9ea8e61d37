//! Which stripes belong together, and whether all of them are there.

use std::cmp::Reverse;
use std::fmt::Write as _;

use thiserror::Error;

use super::Manifest;

/// A manifest that a node has, and the stripe beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundStripe {
    /// The node's name.
    pub node: String,
    /// What the stripe's name has behind the file's.
    pub suffix: String,
    /// The stripe's length in bytes; none where only its manifest is there.
    pub length: Option<u64>,
    /// The manifest's text.
    pub text: String,
}

/// All stripes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeSet {
    /// What they have in common.
    pub manifest: Manifest,
    /// Where each was found, in the servers' order: places in the list of those found.
    pub stripes: Vec<usize>,
}

/// Why there is no whole set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StripeSetError {
    /// No node has any.
    #[error("there are no stripes of it on any of these nodes")]
    Nothing,
    /// No manifest can be read.
    #[error("{0}")]
    Unreadable(String),
    /// Two manifests of one copy contradict each other.
    #[error("the manifests on {0} and {1} are of one copy and differ: one of them was changed")]
    Differ(String, String),
    /// Stripes are missing, or aren't whole.
    #[error("the stripe set is incomplete:{0}")]
    Incomplete(String),
}

impl StripeSet {
    /// The set that was written last, of all that was found.
    ///
    /// # Errors
    /// When there is none, or anything of it lacks.
    pub fn assemble(found: &[FoundStripe]) -> Result<Self, StripeSetError> {
        let (mut read, mut unreadable) = (Vec::new(), Vec::new());
        for (place, stripe) in found.iter().enumerate() {
            match Manifest::parse(&stripe.text) {
                Ok(manifest) => read.push((place, manifest)),
                Err(error) => {
                    let FoundStripe { node, suffix, .. } = stripe;
                    unreadable.push(format!("the manifest {suffix}.toml on {node}: {error}"));
                }
            }
        }
        let newer = |(_, manifest): &&(usize, Manifest)| Reverse(manifest.written);
        let Some((_, newest)) = read.iter().min_by_key(newer) else {
            return Err(match unreadable.is_empty() {
                true => StripeSetError::Nothing,
                false => StripeSetError::Unreadable(unreadable.join("; ")),
            });
        };
        let newest = newest.clone();
        read.retain(|(_, manifest)| manifest.set == newest.set);
        if let Some((place, _)) = read.iter().find(|(_, manifest)| !manifest.agrees(&newest)) {
            let first = read.iter().find(|(_, manifest)| manifest.agrees(&newest));
            let node = |place: usize| found[place].node.clone();
            let first = first.map_or_else(String::new, |(place, _)| node(*place));
            return Err(StripeSetError::Differ(first, node(*place)));
        }
        let (mut stripes, mut lacking) = (Vec::new(), String::new());
        for number in 0..newest.stripes.servers {
            // Several nodes that share a file system all see all stripes.
            let written_to = &newest.servers[usize::from(number)].name;
            let here = || read.iter().filter(|(_, manifest)| manifest.number == number);
            let named = here().find(|(place, _)| found[*place].node == *written_to);
            let here = named.or_else(|| here().next());
            let fault = match here {
                Some((place, manifest)) => {
                    stripes.push(*place);
                    fault(&found[*place], manifest)
                }
                None => Some(format!("none of these nodes has it; it was written to {written_to}")),
            };
            if let Some(fault) = fault {
                let of = newest.stripes.servers;
                // Writing to a string can't fail.
                let _ = write!(lacking, " stripe {} of {of}: {fault};", number + 1);
            }
        }
        if lacking.is_empty() {
            return Ok(Self { manifest: newest, stripes });
        }
        unreadable.iter().for_each(|text| lacking += &format!(" {text};"));
        Err(StripeSetError::Incomplete(lacking.trim_end_matches(';').to_owned()))
    }
}

/// What is wrong with a stripe that has a manifest.
fn fault(found: &FoundStripe, manifest: &Manifest) -> Option<String> {
    let FoundStripe { node, suffix, length, .. } = found;
    let stripe = manifest.stripe();
    let wanted = stripe.length(manifest.stripes.length);
    if stripe.suffix() != *suffix {
        return Some(format!("{node} has its manifest under the name of {suffix}"));
    }
    match length {
        None => Some(format!("{node} has its manifest, but not its file")),
        Some(length) if *length != wanted => {
            Some(format!("{node} has {length} bytes of it, and its manifest says {wanted}"))
        }
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

    #[test]
    fn what_lacks_is_said_with_its_node() {
        assert_eq!(refused(&[]), "there are no stripes of it on any of these nodes");
        insta::assert_snapshot!(refused(&[found(1, 0, 9), found(2, 1, 3)]), @"the stripe set is incomplete: stripe 2 of 2: none of these nodes has it; it was written to io2");
        let short = FoundStripe { length: Some(5), ..found(1, 0, 9) };
        let gone = FoundStripe { length: None, ..found(2, 1, 9) };
        insta::assert_snapshot!(refused(&[short, gone]), @"the stripe set is incomplete: stripe 1 of 2: io1 has 5 bytes of it, and its manifest says 5904; stripe 2 of 2: io2 has its manifest, but not its file");
        let broken = FoundStripe { text: "version = 7".to_owned(), ..found(2, 1, 9) };
        insta::assert_snapshot!(refused(&[found(1, 0, 9), broken]), @"the stripe set is incomplete: stripe 2 of 2: none of these nodes has it; it was written to io2; the manifest .stripe-2of2.toml on io2: version 7, and this Garland reads 1");
        let other = found(2, 1, 9);
        let text = other.text.replace("0o644", "0o600");
        insta::assert_snapshot!(refused(&[found(1, 0, 9), FoundStripe { text, ..other }]), @"the manifests on io1 and io2 are of one copy and differ: one of them was changed");
    }
}
