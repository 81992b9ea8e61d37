//! Tests of the queue of a spool.

use garland_sys::clock::thread_cpu_ns;

use super::*;

const QUIET: Duration = Duration::from_secs(5);
const QUIET_NS: u64 = 5_000_000_000;

fn entry(name: &str, version: u64) -> Entry {
    Entry { name: name.into(), stamp: Stamp::of_version(version) }
}

fn failed(node: usize) -> (usize, Result<(), String>) {
    (node, Err("no space left".to_owned()))
}

/// What nodes lack an entry, each with the reason.
fn missing<'a>(queue: &'a Queue, name: &str) -> Vec<(usize, Option<&'a str>)> {
    let waiting = queue.get(OsStr::new(name)).unwrap();
    let nodes = (0..queue.nodes).filter(|node| !waiting.is_held_by(*node));
    nodes.map(|node| (node, waiting.reason(node))).collect()
}

#[test]
fn an_entry_waits_until_all_nodes_have_it() {
    let mut queue = Queue::new(3, QUIET);
    let [a, b] = [entry("a", 1), entry("b", 1)];
    assert!(queue.see(&[a.clone(), b.clone()]));
    assert!(!queue.see(&[a.clone(), b.clone()]));
    let all = |_| true;
    assert_eq!(queue.next(0, |node| node != 1), Some((a.clone(), vec![0, 2])));
    assert!(!queue.copied(&a, [(0, Ok(())), (2, Ok(()))], 0));
    // The node that was down comes first to what it lacks, in order.
    assert_eq!(queue.next(0, |node| node == 1), Some((a.clone(), vec![1])));
    assert!(queue.copied(&a, [(1, Ok(()))], 0));
    queue.finish(&a);
    assert_eq!(queue.next(0, all), Some((b, vec![0, 1, 2])));
}

#[test]
fn what_failed_is_tried_again_later_and_delays_nothing_else() {
    let mut queue = Queue::new(2, QUIET);
    let [a, b] = [entry("a", 1), entry("b", 1)];
    queue.see(&[a.clone(), b.clone()]);
    let all = |_| true;
    assert!(!queue.copied(&a, [(0, Ok(())), failed(1)], 100));
    assert_eq!(missing(&queue, "a"), [(1, Some("no space left"))]);
    assert_eq!(queue.next(100, all), Some((b.clone(), vec![0, 1])));
    assert!(queue.copied(&b, [(0, Ok(())), (1, Ok(()))], 200));
    queue.finish(&b);
    assert_eq!(queue.next(100 + FIRST_PAUSE_NS - 1, all), None);
    let second = 100 + FIRST_PAUSE_NS;
    assert_eq!(queue.next_due_ns(), Some(second));
    assert_eq!(queue.next(second, all), Some((a.clone(), vec![1])));
    queue.copied(&a, [failed(1)], second);
    assert_eq!(queue.next(second + 2 * FIRST_PAUSE_NS - 1, all), None);
    queue.came_back(1);
    assert_eq!(queue.next(second, all), Some((a, vec![1])));
}

#[test]
fn a_new_version_goes_to_all_nodes_and_a_removed_entry_to_none() {
    let mut queue = Queue::new(2, QUIET);
    let [old, new] = [entry("a", 1), entry("a", 2)];
    queue.see(std::slice::from_ref(&old));
    queue.copied(&old, [(0, Ok(()))], 0);
    assert!(queue.see(std::slice::from_ref(&new)));
    assert_eq!(queue.next(0, |_| true), Some((new, vec![0, 1])));
    assert!(queue.see(&[]));
    assert_eq!(queue.len(), 0);
    assert_eq!(queue.next(0, |_| true), None);
}

#[test]
fn what_may_still_be_written_is_complete_when_it_was_quiet() {
    let mut queue = Queue::new(2, QUIET);
    let a = entry("a", 1);
    queue.see(std::slice::from_ref(&a));
    let [first, second] = [1, 2].map(Status::of_version);
    assert!(!queue.is_complete(&a, &first, false, 100));
    assert_eq!(queue.next(100 + QUIET_NS - 1, |_| true), None);
    let now = 100 + QUIET_NS;
    assert!(queue.next(now, |_| true).is_some());
    // It was written meanwhile.
    assert!(!queue.is_complete(&a, &second, false, now));
    assert!(!queue.is_complete(&a, &second, false, now + QUIET_NS - 1));
    assert!(queue.is_complete(&a, &second, false, now + QUIET_NS));
    assert!(queue.is_complete(&a, &second, false, now + QUIET_NS), "for a node that comes later");
    let mut quick = Queue::new(2, Duration::ZERO);
    quick.see(std::slice::from_ref(&a));
    assert!(quick.is_complete(&a, &first, false, 0));
}

#[test]
fn what_its_writer_closed_is_complete_at_once() {
    let mut queue = Queue::new(2, QUIET);
    let a = entry("a", 1);
    queue.see(std::slice::from_ref(&a));
    assert!(!queue.is_complete(&a, &Status::of_version(1), false, 100));
    assert_eq!(queue.next(101, |_| true), None);
    queue.was_closed(&a.name);
    assert!(queue.next(101, |_| true).is_some());
    assert!(queue.is_complete(&a, &Status::of_version(1), true, 101));
}

#[test]
fn what_changed_after_some_nodes_had_it_goes_to_all_when_it_is_quiet() {
    let mut queue = Queue::new(2, QUIET);
    let a = entry("a", 1);
    queue.see(std::slice::from_ref(&a));
    let [first, second] = [1, 2].map(Status::of_version);
    assert!(queue.is_complete(&a, &first, true, 0));
    queue.copied(&a, [(0, Ok(()))], 0);
    assert_eq!(queue.next(0, |_| true), Some((a.clone(), vec![1])));
    assert!(!queue.is_complete(&a, &second, false, 10));
    assert_eq!(queue.next(10 + QUIET_NS, |_| true), Some((a.clone(), vec![0, 1])));
    assert!(queue.is_complete(&a, &second, false, 10 + QUIET_NS));
    queue.copied(&a, [(0, Ok(())), (1, Ok(()))], 10 + QUIET_NS);
    // It was written during the copy.
    queue.was_late(&a, &first, 10 + QUIET_NS);
    assert_eq!(queue.next(10 + 2 * QUIET_NS, |_| true), Some((a, vec![0, 1])));
}

/// The time of this thread that so many entries take while the last of twenty nodes is down, and
/// then.
fn cost_of(count: u64) -> u64 {
    let mut queue = Queue::new(20, QUIET);
    let entries: Vec<Entry> =
        (0..count).map(|number| entry(&format!("e{number:06}"), number)).collect();
    let began_ns = thread_cpu_ns();
    for _ in 0..5 {
        queue.see(&entries);
    }
    let others: Vec<usize> = (0..19).collect();
    for wanted in &entries {
        let (next, nodes) = queue.next(0, |node| node != 19).unwrap();
        assert_eq!((&next, &nodes), (wanted, &others));
        assert!(queue.is_complete(&next, &Status::of_version(1), true, 0));
        queue.copied(&next, nodes.into_iter().map(|node| (node, Ok(()))), 0);
    }
    assert_eq!(queue.next(0, |node| node != 19), None);
    for wanted in &entries {
        let (next, nodes) = queue.next(0, |_| true).unwrap();
        assert_eq!((&next, nodes), (wanted, vec![19]));
        assert!(queue.copied(&next, [(19, Ok(()))], 0));
        queue.finish(&next);
    }
    thread_cpu_ns() - began_ns
}

#[test]
fn four_times_as_many_entries_cost_about_four_times_as_much() {
    cost_of(100);
    let few_ns = cost_of(2_000);
    let many_ns = cost_of(8_000);
    assert!(many_ns < 9 * few_ns, "2,000 take {few_ns} ns, 8,000 take {many_ns} ns");
}
