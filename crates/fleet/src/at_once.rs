//! Many at once: what is done for every node, and mostly waits.

use std::sync::atomic::{AtomicUsize, Ordering};

use garland_sys::threads;

/// How many agents are asked at once where nothing else says.
pub const ASKED: usize = 64;

/// What `work` gives for each of `items`, in their order; at most `most` are worked on at once.
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
        // This thread is one of them. Where the system makes no more, fewer do it.
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
    fn answers_come_in_order_whoever_is_slow() {
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
