//! The nodes that fetch contents now: each may follow one that began before it, which has what it
//! has fetched. A value without clocks.

use std::collections::BTreeMap;

use garland_protocol::names::{HOLDERS_MAX, LEASE_NS, NameHolder};

/// The maximum number of contents that are fetched at a time.
const CONTENTS_MAX: usize = 1000;

/// The maximum number of nodes that fetch one content at a time. Further ones are not noted.
const FETCHERS_MAX: usize = 4096;

/// The maximum number of contents that one node fetches at a time: a member that says it fetches
/// all there are must leave places for others. Another one takes the place of its oldest.
const CONTENTS_OF_NODE_MAX: usize = 16;

/// The nodes that fetch contents, by the root of the content's manifest.
#[derive(Debug, Default)]
pub struct Fetchers(BTreeMap<[u8; 32], Vec<Fetcher>>);

#[derive(Debug)]
struct Fetcher {
    holder: NameHolder,
    /// The time in monotonic nanoseconds at which it counts as gone.
    until_ns: u64,
}

impl Fetchers {
    /// Notes that `holder` begins to fetch, or goes on. Returns the last of those that began before
    /// it, in their order.
    pub fn note(&mut self, root: [u8; 32], holder: &NameHolder, now_ns: u64) -> Vec<NameHolder> {
        for all in self.0.values_mut() {
            all.retain(|fetcher| fetcher.until_ns > now_ns);
        }
        self.end_oldest(&root, holder);
        self.0.retain(|_, all| !all.is_empty());
        if self.0.len() >= CONTENTS_MAX && !self.0.contains_key(&root) {
            return Vec::new();
        }
        let all = self.0.entry(root).or_default();
        let until_ns = now_ns.saturating_add(LEASE_NS);
        // One place for each node: what a node says of itself takes no more memory, however often.
        let known = all.iter().position(|fetcher| fetcher.holder.node == holder.node);
        let at = known.unwrap_or(all.len());
        match all.get_mut(at) {
            Some(fetcher) => *fetcher = Fetcher { holder: holder.clone(), until_ns },
            None if at < FETCHERS_MAX => all.push(Fetcher { holder: holder.clone(), until_ns }),
            None => {}
        }
        let before = &all[..at.min(all.len())];
        let last = &before[before.len().saturating_sub(HOLDERS_MAX)..];
        last.iter().map(|fetcher| fetcher.holder.clone()).collect()
    }

    /// Ends what the node of `holder` began first, if it fetches too many contents besides `root`.
    fn end_oldest(&mut self, root: &[u8; 32], holder: &NameHolder) {
        let others = self.0.iter().filter(|(content, _)| *content != root);
        let own = others.filter_map(|(content, all)| {
            let fetcher = all.iter().find(|fetcher| fetcher.holder.node == holder.node)?;
            Some((fetcher.until_ns, *content))
        });
        let own: Vec<(u64, [u8; 32])> = own.collect();
        if own.len() >= CONTENTS_OF_NODE_MAX
            && let Some((_, oldest)) = own.into_iter().min()
        {
            self.end(oldest, holder);
        }
    }

    /// Notes that `holder` has fetched all.
    pub fn end(&mut self, root: [u8; 32], holder: &NameHolder) {
        if let Some(all) = self.0.get_mut(&root) {
            all.retain(|fetcher| fetcher.holder.node != holder.node);
        }
    }
}

#[cfg(test)]
mod tests;
