//! Drives the operation with messages, without sockets.

use super::super::{AgentEvent, Operation, Orders};
use super::*;

#[test]
fn each_agent_opens_links_to_the_next_one_that_is_available() {
    let address = |node: u8| vec![([10, 0, 0, node], 7).into()];
    let addresses = [Some(address(0)), None, Some(address(2)), Some(address(3))];
    let order = CopyId([7; 16]);
    let mut orders = Orders::default();
    let mut query = stand_chain(&addresses, order, &Secret([1; 32]));
    query.begin(0, &mut orders);
    let asked = orders.take();
    let next = |order: &ToAgent| match order {
        ToAgent::Stand(.., next) => next.clone(),
        other => panic!("{other:?}"),
    };
    let asked: Vec<_> = asked.iter().map(|(node, order)| (*node, next(order))).collect();
    assert_eq!(asked, [(0, address(2)), (2, address(3)), (3, vec![])]);
    for (node, failed) in [(0, vec![]), (2, vec!["no route".to_owned()]), (3, vec![])] {
        let stands = AgentEvent::Message(FromAgent::Stands(order, failed));
        query.handle(1, node, stands, &mut orders);
    }
    let links = query.into_answers().into_values().map(|links| links.unwrap().unwrap().count);
    assert_eq!(links.collect::<Vec<_>>(), [1, 0, 0]);
}
