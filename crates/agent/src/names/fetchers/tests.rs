use garland_protocol::names::HolderKind;

use super::*;

const ROOT: [u8; 32] = [7; 32];

fn holder(node: &str) -> NameHolder {
    NameHolder { node: node.to_owned(), kind: HolderKind::Node, path: b"x".to_vec() }
}

fn names(holders: &[NameHolder]) -> Vec<&str> {
    holders.iter().map(|holder| holder.node.as_str()).collect()
}

#[test]
fn each_learns_who_began_before_it_and_who_is_silent_is_forgotten() {
    let mut fetchers = Fetchers::default();
    assert!(fetchers.note(ROOT, &holder("a"), 0).is_empty());
    assert_eq!(names(&fetchers.note(ROOT, &holder("b"), 1)), ["a"]);
    assert_eq!(names(&fetchers.note(ROOT, &holder("c"), 2)), ["a", "b"]);
    assert!(fetchers.note([8; 32], &holder("d"), 3).is_empty(), "another content");
    assert_eq!(names(&fetchers.note(ROOT, &holder("c"), LEASE_NS)), ["b"], "a's lease is over");
    fetchers.end(ROOT, &holder("b"));
    assert!(fetchers.note(ROOT, &holder("c"), LEASE_NS + 1).is_empty());
    assert_eq!(names(&fetchers.note(ROOT, &holder("a"), LEASE_NS + 2)), ["c"], "it begins again");
}

#[test]
fn one_learns_of_the_last_ones_only_and_their_number_is_bounded() {
    let mut fetchers = Fetchers::default();
    for number in 0..FETCHERS_MAX + 9 {
        fetchers.note(ROOT, &holder(&format!("n{number}")), 0);
    }
    let before = fetchers.note(ROOT, &holder("late"), 1);
    assert_eq!(before.len(), HOLDERS_MAX);
    assert_eq!(names(&before).last(), Some(&format!("n{}", FETCHERS_MAX - 1).as_str()));
    assert_eq!(fetchers.0[&ROOT].len(), FETCHERS_MAX);
}

#[test]
fn a_node_that_names_other_paths_again_and_again_has_one_place() {
    let mut fetchers = Fetchers::default();
    for number in 0..100_u32 {
        let path = number.to_string().into_bytes();
        assert!(fetchers.note(ROOT, &NameHolder { path, ..holder("a") }, 0).is_empty());
    }
    assert_eq!(fetchers.0[&ROOT].len(), 1);
    let before = fetchers.note(ROOT, &holder("b"), 1);
    assert_eq!(before[0].path, b"99", "the last one counts");
}

#[test]
fn a_node_that_says_it_fetches_all_there_is_leaves_places_for_others() {
    let mut fetchers = Fetchers::default();
    let root = |number: u64| {
        let mut root = [0; 32];
        root[..8].copy_from_slice(&number.to_le_bytes());
        root
    };
    for number in 0..CONTENTS_MAX as u64 {
        fetchers.note(root(number), &holder("greedy"), number);
    }
    assert_eq!(fetchers.0.len(), CONTENTS_OF_NODE_MAX);
    let last = root(CONTENTS_MAX as u64 - 1);
    assert_eq!(names(&fetchers.note(last, &holder("b"), 2000)), ["greedy"], "the newest stay");
    let other = root(5000);
    fetchers.note(other, &holder("b"), 2000);
    assert_eq!(names(&fetchers.note(other, &holder("c"), 2001)), ["b"]);
}
