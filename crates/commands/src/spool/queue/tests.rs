//! Tests of the queue of a spool.

use super::*;

fn entry(name: &str, version: u64) -> Entry {
    Entry { name: name.into(), stamp: Stamp::of_version(version) }
}

fn failed(node: usize) -> (usize, Result<(), String>) {
    (node, Err("no space left".to_owned()))
}

#[test]
fn an_entry_waits_until_all_nodes_have_it() {
    let mut queue = Queue::new(3);
    let (a, b) = (entry("a", 1), entry("b", 1));
    assert!(queue.see(&[a.clone(), b.clone()]));
    assert!(!queue.see(&[a.clone(), b.clone()]));
    let all = |_| true;
    assert_eq!(queue.next(0, |node| node != 1), Some((a.clone(), vec![0, 2])));
    assert!(!queue.copied(&a, [(0, Ok(())), (2, Ok(()))], 0));
    // The node that was down comes first to what it lacks, in order.
    assert_eq!(queue.next(0, |node| node == 1), Some((a.clone(), vec![1])));
    assert!(queue.copied(&a, [(1, Ok(()))], 0));
    assert_eq!(queue.next(0, all), Some((b, vec![0, 1, 2])));
}

#[test]
fn what_failed_is_tried_again_later_and_delays_nothing_else() {
    let mut queue = Queue::new(2);
    let (a, b) = (entry("a", 1), entry("b", 1));
    queue.see(&[a.clone(), b.clone()]);
    let all = |_| true;
    assert!(!queue.copied(&a, [(0, Ok(())), failed(1)], 100));
    assert_eq!(queue.waiting()[0].missing().collect::<Vec<_>>(), [(1, Some("no space left"))]);
    assert_eq!(queue.next(100, all), Some((b.clone(), vec![0, 1])));
    assert!(queue.copied(&b, [(0, Ok(())), (1, Ok(()))], 200));
    assert_eq!(queue.next(100 + FIRST_PAUSE_NS - 1, all), None);
    let second = 100 + FIRST_PAUSE_NS;
    assert_eq!(queue.next(second, all), Some((a.clone(), vec![1])));
    queue.copied(&a, [failed(1)], second);
    assert_eq!(queue.next(second + 2 * FIRST_PAUSE_NS - 1, all), None);
    queue.came_back(1);
    assert_eq!(queue.next(second, all), Some((a, vec![1])));
}

#[test]
fn a_new_version_goes_to_all_nodes_and_a_removed_entry_to_none() {
    let mut queue = Queue::new(2);
    let (old, new) = (entry("a", 1), entry("a", 2));
    queue.see(std::slice::from_ref(&old));
    queue.copied(&old, [(0, Ok(()))], 0);
    assert!(queue.see(std::slice::from_ref(&new)));
    assert_eq!(queue.next(0, |_| true), Some((new, vec![0, 1])));
    assert!(queue.see(&[]));
    assert!(queue.waiting().is_empty());
}
