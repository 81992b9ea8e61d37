//! The strongly connected components of a graph, by Tarjan's algorithm (1972).

use std::collections::{BTreeMap, BTreeSet};

/// Returns every set of two or more files that reach each other, largest first.
pub(super) fn of(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let mut search = Search { edges, ..Search::default_for(edges) };
    for file in edges.keys() {
        if !search.index.contains_key(file.as_str()) {
            search.visit(file);
        }
    }
    search.found.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    search.found
}

struct Search<'a> {
    edges: &'a BTreeMap<String, BTreeSet<String>>,
    index: BTreeMap<&'a str, usize>,
    low: BTreeMap<&'a str, usize>,
    stack: Vec<&'a str>,
    found: Vec<Vec<String>>,
}

impl<'a> Search<'a> {
    fn default_for(edges: &'a BTreeMap<String, BTreeSet<String>>) -> Self {
        Self {
            edges,
            index: BTreeMap::new(),
            low: BTreeMap::new(),
            stack: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Visits `file` and returns the smallest index that it reaches on the stack.
    fn visit(&mut self, file: &'a str) -> usize {
        let own = self.index.len();
        self.index.insert(file, own);
        self.low.insert(file, own);
        self.stack.push(file);
        for next in self.edges.get(file).into_iter().flatten() {
            let reached = match self.index.get(next.as_str()) {
                None => Some(self.visit(next)),
                Some(&index) => self.stack.contains(&next.as_str()).then_some(index),
            };
            if let Some(reached) = reached {
                let low = self.low.entry(file).or_insert(own);
                *low = (*low).min(reached);
            }
        }
        let low = self.low[file];
        if low == own {
            self.close(file);
        }
        low
    }

    /// Takes the component of `file` off the stack.
    fn close(&mut self, file: &str) {
        let at = self.stack.iter().position(|&open| open == file).unwrap_or(0);
        let mut members: Vec<_> = self.stack.drain(at..).map(str::to_owned).collect();
        if members.len() > 1 {
            members.sort();
            self.found.push(members);
        }
    }
}
