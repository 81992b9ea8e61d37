use super::*;
use crate::message::{Message, ToAgent};
use crate::wire::MAX_MESSAGE;

#[test]
fn tasks_are_sent_in_order_and_no_message_is_too_long() {
    let task = |job: u32| Task {
        job,
        command: Command::Line(vec![b'x'; 1000 * job as usize].into()),
        own_folder: false,
        outputs: vec![("a".into(), "b".into())],
        cores: 1,
        timeout_ns: Some(u64::MAX),
        checkpoint: Some("c".into()),
        state: vec!["s".into()],
    };
    let messages = orders_of((1..=32).map(task).collect());
    let sizes = messages.iter().map(|order| ToAgent::Farm(order.clone()).to_bytes().len());
    assert!(sizes.max().unwrap() <= MAX_MESSAGE);
    let run = |order: &FarmOrder| match order {
        FarmOrder::Run(tasks) => tasks.iter().map(|task| task.job).collect::<Vec<_>>(),
        order => panic!("{order:?}"),
    };
    assert_eq!(messages.iter().flat_map(run).collect::<Vec<_>>(), Vec::from_iter(1..=32));
    assert_eq!(run(&messages[0]), [1, 2, 3, 4, 5, 6, 7, 8, 9], "48 KiB at most");
    assert_eq!(orders_of(Vec::new()), []);
}
