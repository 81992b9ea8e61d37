//! Drives the operation with messages, without sockets.

use super::*;

fn started(count: usize) -> CommandRun<'static> {
    let order = CommandOrder { words: vec![b"cat".to_vec()], has_input: true };
    CommandRun::new(&order, count, |orders| {
        Query::new(orders, None, |_, message| match message {
            FromAgent::Exited(code) => Some(Ok(code)),
            _ => None,
        })
    })
}

fn tell(run: &mut CommandRun<'_>, node: usize, message: FromAgent) {
    run.handle(0, node, AgentEvent::Message(message), &mut Orders::default());
}

/// Passes on as many pieces as are wanted; returns their number, and the messages to each node.
fn fill(run: &mut CommandRun<'_>, nodes: usize) -> (usize, Vec<usize>) {
    let mut pieces = 0;
    let mut messages = vec![0; nodes];
    while run.wants_input() {
        run.give_input(vec![b'x'; INPUT_PIECE]);
        assert!(!run.wants_input(), "one piece at a time");
        let mut orders = Orders::default();
        run.tick(0, &mut orders);
        orders.take().iter().for_each(|(node, _)| messages[*node] += 1);
        pieces += 1;
    }
    (pieces, messages)
}

#[test]
fn the_slowest_command_decides_how_much_is_read() {
    let mut run = started(2);
    run.begin(0, &mut Orders::default());
    assert_eq!(fill(&mut run, 2), (8, vec![8, 8]));
    tell(&mut run, 0, FromAgent::Input(InputNews::Taken(INPUT_WINDOW)));
    assert!(!run.wants_input(), "node 1 has taken nothing");
    tell(&mut run, 1, FromAgent::Input(InputNews::Taken(INPUT_PIECE as u64)));
    assert_eq!(fill(&mut run, 2), (1, vec![1, 1]));
    // A command that has ended holds up no others, and gets no more.
    tell(&mut run, 1, FromAgent::Exited(0));
    assert_eq!(fill(&mut run, 2), (7, vec![7, 0]));
    // What a node has not got it cannot have taken.
    tell(&mut run, 0, FromAgent::Input(InputNews::Taken(u64::MAX)));
    assert_eq!(fill(&mut run, 2), (8, vec![8, 0]));
}

#[test]
fn nodes_that_hold_up_the_input_of_others_are_told() {
    let mut run = started(3);
    run.begin(0, &mut Orders::default());
    let _ = fill(&mut run, 3);
    let at = |run: &mut CommandRun<'_>, now_ns: u64| {
        run.tick(now_ns, &mut Orders::default());
        run.holding_up(now_ns, 10)
    };
    assert_eq!(at(&mut run, 0), []);
    assert_eq!(at(&mut run, 20), [], "nobody has room, so nobody holds up another one");
    tell(&mut run, 1, FromAgent::Input(InputNews::Taken(INPUT_WINDOW)));
    assert_eq!(at(&mut run, 21), [0, 2]);
    // It takes a little again and again.
    tell(&mut run, 2, FromAgent::Input(InputNews::Taken(INPUT_PIECE as u64 - 1)));
    assert_eq!(at(&mut run, 22), [0, 2]);
    tell(&mut run, 2, FromAgent::Input(InputNews::Taken(INPUT_PIECE as u64)));
    assert_eq!(at(&mut run, 23), [0]);
    tell(&mut run, 2, FromAgent::Exited(0));
    assert_eq!(at(&mut run, 34), [0]);
    tell(&mut run, 0, FromAgent::Input(InputNews::Taken(INPUT_WINDOW)));
    assert_eq!(at(&mut run, 50), []);
    // What is left after the end of the input holds up nobody.
    let _ = fill(&mut run, 3);
    tell(&mut run, 1, FromAgent::Input(InputNews::Taken(2 * INPUT_WINDOW)));
    run.give_input(Vec::new());
    assert_eq!(at(&mut run, 60), []);
    assert_eq!(at(&mut run, 90), []);
}

#[test]
fn nothing_more_is_read_for_a_node_that_has_not_taken_what_was_sent() {
    let mut run = started(2);
    run.begin(0, &mut Orders::default());
    let mut orders = Orders::default();
    orders.set_full([1]);
    run.tick(0, &mut orders);
    assert!(!run.wants_input());
    assert_eq!(run.holding_up(2_000, 1_000), [1]);
    orders.set_full([]);
    run.tick(0, &mut orders);
    assert!(run.wants_input());
}

#[test]
fn input_that_no_command_has_read_is_noticed() {
    let mut run = started(2);
    run.begin(0, &mut Orders::default());
    assert_eq!(run.unread_input(), None, "there was none");
    run.give_input(b"n2\n".to_vec());
    run.tick(0, &mut Orders::default());
    run.give_input(Vec::new());
    run.tick(0, &mut Orders::default());
    assert!(!run.wants_input(), "it has ended");
    tell(&mut run, 0, FromAgent::Exited(0));
    assert_eq!(run.unread_input(), None, "that of node 1 may read it");
    run.handle(0, 1, AgentEvent::Lost("dead".to_owned()), &mut Orders::default());
    assert_eq!(run.unread_input(), Some(3), "a dead node has read nothing");
    tell(&mut run, 1, FromAgent::Input(InputNews::Read(3)));
    assert_eq!(run.unread_input(), None, "node 1 has read it");
}
