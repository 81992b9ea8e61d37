//! Drives the operation with messages and times, without sockets.

use garland_core::plan::Layout;

use super::*;
use crate::copy::{StatusRule, TreeOutline};

fn compared(answer: Compared) -> AgentEvent {
    AgentEvent::Message(FromAgent::Compared(answer))
}

fn told(comparison: &mut Comparison<'_>, now_ns: u64) -> Vec<(usize, CompareOrder)> {
    let mut orders = Orders::default();
    comparison.tick(now_ns, &mut orders);
    let order = |(node, message)| match message {
        ToAgent::Compare(order) => (node, order),
        other => panic!("{other:?}"),
    };
    orders.take().into_iter().map(order).collect()
}

fn request() -> Compare {
    let layout = Layout::new(3 * 4096, 4096).unwrap();
    let path = Vec::new();
    let name = Vec::new();
    Compare { path, name, layout, tree: None, by: CompareBy::Contents, shared: None }
}

#[test]
fn only_nodes_with_another_file_get_digests_and_nobody_waits_for_a_hanging_node() {
    let compare = request();
    let mut comparison = Comparison::new(&compare, None, 4);
    let mut orders = Orders::default();
    comparison.handle(0, 3, AgentEvent::Lost("no agent".to_owned()), &mut orders);
    comparison.begin(1, &mut orders);
    let digests = vec![[1; 32], [2; 32], [3; 32]];
    let length = Some(3 * 4096);
    let root = root_digest(&digests);
    assert!(told(&mut comparison, 2).is_empty() && !comparison.needs_digests());
    comparison.handle(3, 0, compared(Compared::Found { length, root }), &mut orders);
    let found = Compared::Found { length: None, root: [0; 32] };
    comparison.handle(3, 1, compared(found), &mut orders);
    assert!(comparison.needs_digests());
    comparison.set_digests(digests.clone());
    let sent = told(&mut comparison, 4);
    let is_all = |order: &CompareOrder| matches!(order, CompareOrder::Digests(parcel, false) if *parcel == digests);
    assert!(matches!(&sent[..], [(1, order)] if is_all(order)), "{sent:?}");
    assert!(told(&mut comparison, 5).is_empty());
    let has = Compared::Has { blocks: 0, left: Some(0) };
    comparison.handle(6, 1, compared(has), &mut orders);
    assert!(told(&mut comparison, PATIENCE_NS + 1).is_empty() && !comparison.is_over());
    assert!(told(&mut comparison, PATIENCE_NS + 2).is_empty() && comparison.is_over());
    assert_eq!(comparison.into_end().unusable, [1]);
}

#[test]
fn digests_are_computed_here_once_no_node_reports_more_of_them() {
    let compare = request();
    let blocks = |first, end| LaneBlocks { first, end, ..LaneBlocks::all(end) };
    let parts = vec![Some(blocks(0, 2)), Some(blocks(2, 3)), None];
    let shared = SharedSource { path: Vec::new(), modified: (0, 0), parts };
    let mut comparison = Comparison::new(&compare, Some(&shared), 3);
    let mut orders = Orders::default();
    comparison.begin(0, &mut orders);
    let found = Compared::Found { length: None, root: [0; 32] };
    comparison.handle(1, 2, compared(found), &mut orders);
    let part = Compared::Part(vec![[1; 32], [2; 32]], false);
    comparison.handle(1, 0, compared(part), &mut orders);
    assert!(!comparison.needs_digests(), "node 1 still reads its part");
    comparison.handle(2, 1, AgentEvent::Lost("it exited".to_owned()), &mut orders);
    assert!(comparison.needs_digests());
    let missing = comparison.reported(7).missing().unwrap();
    assert!(missing.indices().eq([2]));
    assert_eq!(comparison.reported(7).into_known(), [[1; 32], [2; 32]]);
    assert!(!comparison.is_over() && comparison.interrupt(3, &mut orders));
}

#[test]
fn a_catalogue_is_made_when_a_node_needs_it_and_sent_if_it_is_small() {
    let compare = request();
    for (bytes, is_sent) in [(1536, true), (1537, false)] {
        let mut comparison = Comparison::new(&compare, None, 2);
        let mut orders = Orders::default();
        comparison.begin(0, &mut orders);
        assert!(!comparison.needs_catalogue());
        comparison.handle(1, 1, compared(Compared::Wants), &mut orders);
        assert!(comparison.needs_catalogue());
        assert!(told(&mut comparison, 2).is_empty() && !comparison.needs_digests());
        comparison.set_catalogue(Some(vec![vec![1; bytes - 1], vec![2]]));
        assert!(!comparison.needs_catalogue());
        assert_eq!(comparison.needs_digests(), is_sent);
        // A node gets a parcel once the one before has been sent.
        let parcels: Vec<_> = (3..6).flat_map(|now| told(&mut comparison, now)).collect();
        let all = [(vec![1; bytes - 1], true), (vec![2], false)];
        let all = all.map(|(parcel, more)| (1, CompareOrder::Catalogue(parcel, more)));
        assert_eq!(parcels, if is_sent { all.to_vec() } else { vec![] });
        comparison.handle(6, 0, compared(Compared::Nothing), &mut orders);
        assert_eq!(comparison.is_over(), !is_sent);
        comparison.handle(7, 1, compared(Compared::Nothing), &mut orders);
        assert!(comparison.is_over());
    }
}

#[test]
fn entries_that_all_nodes_have_by_status_are_found_and_nobody_waits_in_vain() {
    let outline = TreeOutline { bytes: 500, records: 12, names: Vec::new() };
    let by = CompareBy::Status { rule: StatusRule::default(), named: false };
    let compare = Compare { tree: Some(outline), by, ..request() };
    let unchanged = |bits: [u8; 2]| compared(Compared::Unchanged(bits.to_vec(), false));
    let begun = || {
        let mut comparison = Comparison::new(&compare, None, 2);
        let mut orders = Orders::default();
        comparison.begin(0, &mut orders);
        comparison.handle(1, 0, compared(Compared::Wants), &mut orders);
        comparison.set_catalogue(Some(vec![vec![1; 3000]]));
        assert!(matches!(&told(&mut comparison, 2)[..], [(0, CompareOrder::Catalogue(_, false))]));
        assert!(told(&mut comparison, 3).is_empty() && !comparison.needs_digests());
        comparison
    };
    let mut comparison = begun();
    let mut orders = Orders::default();
    comparison.handle(4, 1, compared(Compared::Wants), &mut orders);
    assert_eq!(told(&mut comparison, 5).len(), 1);
    assert!(told(&mut comparison, 6).is_empty());
    comparison.handle(7, 0, unchanged([0b1010, 0b1]), &mut orders);
    assert!(!comparison.is_over());
    comparison.handle(8, 1, unchanged([0b0110, 0b1]), &mut orders);
    assert!(comparison.is_over());
    let set = comparison.into_end().unchanged.unwrap();
    assert!((0..12).filter(|number| set.contains(*number)).eq([1, 8]));
    // A node that has nothing, or that may come later: the other one gets no catalogue.
    for event in [compared(Compared::Nothing), AgentEvent::Lost("it exited".to_owned())] {
        let mut comparison = begun();
        comparison.handle(4, 0, event, &mut orders);
        comparison.handle(5, 1, compared(Compared::Wants), &mut orders);
        assert!(comparison.is_over() && told(&mut comparison, 6).is_empty());
        assert!(comparison.into_end().unchanged.is_none());
    }
    // Nobody has anything: no comparison of contents finds more.
    let mut comparison = Comparison::new(&compare, None, 2);
    comparison.begin(0, &mut orders);
    comparison.handle(1, 0, compared(Compared::Nothing), &mut orders);
    comparison.handle(1, 1, compared(Compared::Nothing), &mut orders);
    assert!(comparison.is_over() && !comparison.into_end().found_something);
    assert!(begun().into_end().found_something, "one wants the catalogue");
    // A user who interrupts: one node has not reported yet.
    let mut comparison = begun();
    comparison.handle(4, 0, unchanged([0b1010, 0b1]), &mut orders);
    assert!(comparison.into_end().unchanged.is_none());
}

/// Has the last node of a comparison repeat `answer` every second; returns the time in seconds at
/// which the comparison is over, up to a day.
fn seconds_until_over(mut comparison: Comparison<'_>, answer: &Compared) -> u64 {
    let mut orders = Orders::default();
    for second in 0..86_400 {
        let now_ns = second * 1_000_000_000;
        if second == 0 {
            comparison.begin(now_ns, &mut orders);
            comparison.handle(now_ns, 0, compared(Compared::Nothing), &mut orders);
            comparison.handle(now_ns, 1, compared(Compared::Nothing), &mut orders);
        }
        comparison.handle(now_ns, 2, compared(answer.clone()), &mut orders);
        told(&mut comparison, now_ns);
        if comparison.is_over() {
            return second;
        }
    }
    86_400
}

#[test]
fn a_node_that_says_for_ever_that_it_reads_does_not_hold_up_the_others() {
    let compare = request();
    let comparison = Comparison::new(&compare, None, 3);
    assert_eq!(seconds_until_over(comparison, &Compared::Reading), 31);
    // It has time for its bytes: here an hour's.
    let layout = Layout { length: 3600 * SLOWEST_COMPARISON, ..compare.layout };
    let compare = Compare { layout, ..compare };
    let comparison = Comparison::new(&compare, None, 3);
    assert_eq!(seconds_until_over(comparison, &Compared::Reading), 3631);
}

#[test]
fn messages_that_bring_nothing_new_are_no_progress() {
    let layout = Layout { length: 3600 * SLOWEST_COMPARISON, ..request().layout };
    let compare = Compare { layout, ..request() };
    let parts = vec![None, None, Some(LaneBlocks::all(3))];
    let shared = SharedSource { path: Vec::new(), modified: (0, 0), parts };
    let until_over =
        |answer| seconds_until_over(Comparison::new(&compare, Some(&shared), 3), &answer);
    assert_eq!(until_over(Compared::Part(Vec::new(), true)), 31);
    let has = Compared::Has { blocks: 1, left: None };
    assert_eq!(until_over(has), 31, "it was sent no digests");
    assert_eq!(until_over(Compared::Surplus(vec![b"x".to_vec()], 1)), 31, "nobody asked for it");
}

#[test]
fn a_node_that_has_found_its_file_but_not_read_its_part_is_waited_for_only_so_long() {
    let compare = request();
    let parts = vec![None, None, Some(LaneBlocks::all(3))];
    let shared = SharedSource { path: Vec::new(), modified: (0, 0), parts };
    let mut comparison = Comparison::new(&compare, Some(&shared), 3);
    comparison.handle(
        0,
        2,
        compared(Compared::Found { length: None, root: [0; 32] }),
        &mut Orders::default(),
    );
    assert_eq!(seconds_until_over(comparison, &Compared::Reading), 31);
}

#[test]
fn who_worked_when_is_known_of_each_node_and_of_the_head() {
    let compare = request();
    let mut comparison = Comparison::new(&compare, None, 2);
    let mut orders = Orders::default();
    comparison.begin(10, &mut orders);
    let found = |root| compared(Compared::Found { length: None, root });
    comparison.handle(30, 0, found([0; 32]), &mut orders);
    let digests = vec![[1; 32], [2; 32], [3; 32]];
    comparison.set_digests(digests.clone());
    comparison.add_own_work(31, 60);
    assert_eq!(told(&mut comparison, 61).len(), 1, "node 0 gets the digests");
    let length = Some(3 * 4096);
    let root = root_digest(&digests);
    comparison.handle(70, 1, compared(Compared::Found { length, root }), &mut orders);
    comparison.handle(75, 0, compared(Compared::Has { blocks: 0, left: None }), &mut orders);
    assert!(told(&mut comparison, 76).is_empty() && comparison.is_over());
    let work = |node, begin_ns, end_ns| ComparisonWork { node, begin_ns, end_ns };
    let expected =
        [work(Some(0), 10, 30), work(None, 31, 60), work(Some(1), 10, 70), work(Some(0), 61, 75)];
    assert_eq!(comparison.into_end().work, expected);
}
