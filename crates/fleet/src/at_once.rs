//! Runs blocking work for many nodes on a limited number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use garland_sys::threads;

/// The default maximum number of agents that are contacted at the same time.
pub const ASKED: usize = 64;

/// Runs `work` for each of `items`, at most `most` of them at the same time. Returns the results in
/// the order of `items`.
pub fn at_once<T: Sync, R: Send>(
    items: &[T],
    most: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(item)));
        }
    };
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        // This thread works, too. If no more threads can be started, fewer do the work.
        let others = 1..most.clamp(1, items.len().max(1));
        let workers = others.map_while(|_| threads::spawn_in(scope, "node", worker).ok());
        let workers: Vec<_> = workers.collect();
        let own = worker();
        let joined = workers.into_iter().map(|worker| worker.join());
        let joined = joined.map(|r| r.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(own).chain(joined).flatten().collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use crate::at_once::at_once;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        let slow = |&item: &u64| {
            std::thread::sleep(std::time::Duration::from_millis(item % 3));
            item * 2
        };
        let wanted: Vec<u64> = items.iter().map(|item| item * 2).collect();
        assert_eq!(at_once(&items, 7, slow), wanted);
        assert_eq!(at_once(&items[..0], 7, slow), Vec::<u64>::new());
    }
}
