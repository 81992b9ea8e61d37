use super::*;
use crate::export::tests::span;

fn numbers(states: &[State]) -> Vec<[u64; 6]> {
    let text = serde_json::to_string(states).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_longest_work_and_the_node_that_was_waited_for_win() {
    let mut activity = Activity::new(4, 1_000_000);
    let of = |stage, peer, busy_ns| Span { busy_ns, ..span(stage, peer, 0) };
    activity.add(&of(Stage::Write, NONE, 1_000_000), &(0..2_000_000));
    activity.add(&of(Stage::Open, NONE, 100_000), &(0..1_000_000));
    activity.add(&of(Stage::WaitUpstream, 3, 900_000), &(1_000_000..2_000_000));
    activity.add(&of(Stage::WaitDownstream, 2, 100_000), &(1_000_000..2_000_000));
    activity.add(&of(Stage::WaitUpstream, NONE, 1_000_000), &(2_000_000..3_000_000));
    let [write, wait] =
        [Stage::Write, Stage::WaitUpstream].map(|stage| u64::from(stage.number()) + 1);
    assert_eq!(
        numbers(&activity.end()),
        [[0, 1000, 600, write, 0, 0], [1000, 1000, 500, write, wait, 4],]
    );
}

#[test]
fn what_goes_on_is_one_state_and_no_one_is_busier_than_all_the_time() {
    let mut activity = Activity::new(10, 1_000);
    for _ in 0..3 {
        activity.add(&Span { busy_ns: 8_000, ..span(Stage::Seal, NONE, 0) }, &(0..8_000));
    }
    let states = activity.end();
    assert_eq!((states.len(), states[0].busy, states[0].end_ns), (1, 1000, 8_000));
}
