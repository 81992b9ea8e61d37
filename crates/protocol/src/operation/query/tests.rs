//! Drives the operation with messages and times, without sockets.

use super::*;

fn new_query() -> Query<'static, i32> {
    let orders = [0, 1, 3].map(|node| (node, ToAgent::View)).to_vec();
    let late = (Duration::from_secs(3), "it is late".to_owned());
    Query::new(orders, Some(late), |_, message| match message {
        FromAgent::Exited(code) => Some(Ok(code)),
        FromAgent::ExecFailed(reason) => Some(Err(reason)),
        _ => None,
    })
}

#[test]
fn each_node_is_asked_once_and_has_one_answer_or_error() {
    let mut query = new_query();
    let mut orders = Orders::default();
    query.begin(0, &mut orders);
    let asked: Vec<usize> = orders.take().into_iter().map(|(node, _)| node).collect();
    assert_eq!(asked, [0, 1, 3]);
    let mut tell = |node, event| query.handle(0, node, event, &mut orders);
    tell(2, AgentEvent::Lost("nobody asked it".to_owned()));
    tell(0, AgentEvent::Message(FromAgent::Heartbeat(Vec::new())));
    tell(0, AgentEvent::Message(FromAgent::Exited(7)));
    tell(0, AgentEvent::Lost("it exited afterwards".to_owned()));
    tell(3, AgentEvent::Message(FromAgent::ExecFailed("no such program".to_owned())));
    query.tick(3_000_000_000, &mut orders);
    assert!(!query.is_over(), "there is still time");
    query.tick(3_000_000_001, &mut orders);
    assert!(query.is_over() && orders.take().is_empty());
    let late = "it is late".to_owned();
    let failed = "no such program".to_owned();
    let wanted = [(0, Some(Ok(7))), (1, Some(Err(late))), (3, Some(Err(failed)))];
    assert_eq!(query.into_answers(), BTreeMap::from(wanted));
}

#[test]
fn an_interrupt_ends_a_query_and_keeps_the_answers() {
    let mut query = new_query();
    let mut orders = Orders::default();
    query.begin(0, &mut orders);
    query.handle(0, 1, AgentEvent::Message(FromAgent::Exited(0)), &mut orders);
    assert!(!query.is_over() && query.interrupt(0, &mut orders));
    let wanted = [(0, None), (1, Some(Ok(0))), (3, None)];
    assert_eq!(query.into_answers(), BTreeMap::from(wanted));
}

#[test]
fn what_a_node_says_after_its_answer_is_not_heard() {
    let mut heard = Vec::new();
    let orders = [0, 1].map(|node| (node, ToAgent::View)).to_vec();
    let mut query = Query::new(orders, None, |node, message| {
        heard.push(node);
        matches!(message, FromAgent::Exited(_)).then_some(Ok(()))
    });
    let mut orders = Orders::default();
    query.begin(0, &mut orders);
    for node in [0, 1, 0, 2] {
        query.handle(0, node, AgentEvent::Message(FromAgent::Exited(0)), &mut orders);
    }
    query.handle(0, 1, AgentEvent::Message(FromAgent::Output(false, vec![7])), &mut orders);
    assert!(query.is_over());
    drop(query);
    assert_eq!(heard, [0, 1]);
}
