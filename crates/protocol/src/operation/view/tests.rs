//! Drives the operation with messages and times, without sockets.

use super::*;

#[test]
fn a_node_is_asked_again_an_interval_after_its_answer_and_never_after_its_loss() {
    let mut view = View::new(2, Duration::from_nanos(10));
    let mut orders = Orders::default();
    let mut asked = |view: &mut View, now| {
        view.tick(now, &mut orders);
        orders.take().into_iter().map(|(node, _)| node).collect::<Vec<_>>()
    };
    assert_eq!(asked(&mut view, 100), [0, 1]);
    assert!(asked(&mut view, 900).is_empty(), "no node has two requests");
    let mut none = Orders::default();
    let answer = AgentEvent::Message(FromAgent::Viewed(Box::default()));
    view.handle(900, 1, answer, &mut none);
    view.handle(905, 0, AgentEvent::Lost("it exited".to_owned()), &mut none);
    assert_eq!(view.due_ns(), Some(910));
    assert!(asked(&mut view, 909).is_empty());
    assert_eq!(asked(&mut view, 910), [1]);
    let news = view.take_news();
    assert!(matches!(&news[..], [(1, Ok(_)), (0, Err(why))] if why == "it exited"));
    assert!(!view.is_over());
    view.stop();
    assert!(view.is_over());
}
