//! Expands a node list to names.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::error::{NodeListError, NodeListProblem, Origin};
use super::limits::MOST_NAMES;
use super::scan::{Item, ItemKind, Scanner};
use super::sources::Sources;

/// The maximum nesting depth of groups and files.
const DEEPEST: usize = 32;

/// Returns the names in a node list, in its order.
///
/// ```
/// use garland_core::cluster::nodelist::{NoSources, expand};
/// assert_eq!(expand("head,n[08-11]!n09", &NoSources)?, ["head", "n08", "n10", "n11"]);
/// # Ok::<(), garland_core::cluster::nodelist::NodeListError>(())
/// ```
///
/// # Errors
/// [`NodeListError`]: a syntax error, more than [`MOST_NAMES`] names, an unknown group, an
/// unreadable source, or no names.
pub fn expand(expr: &str, sources: &dyn Sources) -> Result<Vec<String>, NodeListError> {
    let mut expander = Expander { sources, budget: MOST_NAMES, open: Vec::new() };
    let names = expander.evaluate(expr, Origin::Given)?;
    if names.is_empty() {
        return Err(NodeListError::new(Origin::Given, expr, 0..expr.len(), NodeListProblem::Empty));
    }
    Ok(names)
}

struct Expander<'s> {
    sources: &'s dyn Sources,
    /// The remaining number of names and references; it bounds the work.
    budget: usize,
    /// The texts being evaluated, outermost first, to find cycles.
    open: Vec<Origin>,
}

impl Expander<'_> {
    fn evaluate(&mut self, text: &str, origin: Origin) -> Result<Vec<String>, NodeListError> {
        self.open.push(origin.clone());
        let mut scanner = Scanner::new(text);
        let mut set = OrderedSet::default();
        let wrong = |(span, problem)| NodeListError::new(origin.clone(), text, span, problem);
        while let Some(item) = scanner.next_item().map_err(wrong)? {
            self.apply(&item, &mut set, &|problem| wrong((item.span.clone(), problem)))?;
        }
        self.open.pop();
        Ok(set.into_names())
    }

    /// Adds the names of an item to `set`, or removes them. `wrong` converts a problem to an error
    /// at the item; errors in a text that the item refers to have their own positions.
    fn apply(
        &mut self,
        item: &Item<'_>,
        set: &mut OrderedSet,
        wrong: &dyn Fn(NodeListProblem) -> NodeListError,
    ) -> Result<(), NodeListError> {
        let mut put = |name: &str| {
            if item.exclude {
                set.remove(name);
            } else {
                set.insert(name);
            }
            Ok::<(), NodeListProblem>(())
        };
        let origin = match &item.kind {
            ItemKind::Names(pattern) => {
                self.spend(pattern.count()).map_err(wrong)?;
                return pattern.each(&mut put).map_err(wrong);
            }
            ItemKind::File(path) => Origin::File((*path).into()),
            ItemKind::Group("slurm") => Origin::Slurm,
            ItemKind::Group(group) => Origin::Group((*group).into()),
        };
        let text = match (self.sources.text(&origin), &origin) {
            (Ok(Some(text)), _) => text,
            (Ok(None), Origin::Group(name)) => {
                return Err(wrong(NodeListProblem::UnknownGroup(name.clone())));
            }
            (Ok(None), _) => return Err(wrong(NodeListProblem::NoAllocation)),
            (Err(reason), _) => {
                return Err(wrong(NodeListProblem::Source { what: origin, reason }));
            }
        };
        self.check_reference(&origin).map_err(wrong)?;
        let names = self.evaluate(&text, origin)?;
        names.iter().try_for_each(|name| put(name)).map_err(wrong)
    }

    /// Refuses cycles and nesting that is too deep.
    fn check_reference(&mut self, origin: &Origin) -> Result<(), NodeListProblem> {
        self.spend(1)?;
        if let Some(first) = self.open.iter().position(|open| open == origin) {
            let mut chain: Vec<String> = self.open[first..].iter().map(Origin::to_string).collect();
            chain.push(origin.to_string());
            return Err(NodeListProblem::Cycle(chain.join(" -> ")));
        }
        if self.open.len() > DEEPEST {
            return Err(NodeListProblem::TooDeep(DEEPEST));
        }
        Ok(())
    }

    fn spend(&mut self, names: u64) -> Result<(), NodeListProblem> {
        let left = usize::try_from(names).ok().and_then(|names| self.budget.checked_sub(names));
        self.budget = left.ok_or(NodeListProblem::TooMany)?;
        Ok(())
    }
}

/// Names in insertion order, with removal in constant time.
#[derive(Default)]
struct OrderedSet {
    ranks: HashMap<String, usize>,
    next: usize,
}

impl OrderedSet {
    /// Adds a name. One that is there keeps its place: lists of batch systems have a line for each
    /// processor, and groups overlap.
    fn insert(&mut self, name: &str) {
        if let Entry::Vacant(place) = self.ranks.entry(name.to_owned()) {
            place.insert(self.next);
            self.next += 1;
        }
    }

    /// Removes a name if present. Absent names are no error: `@slurm!head` is valid with and
    /// without the head in the allocation.
    fn remove(&mut self, name: &str) {
        self.ranks.remove(name);
    }

    fn into_names(self) -> Vec<String> {
        let mut ranked: Vec<(usize, String)> =
            self.ranks.into_iter().map(|(name, rank)| (rank, name)).collect();
        ranked.sort_unstable_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, name)| name).collect()
    }
}
