//! Drives the operation with messages and times, without sockets.

use std::collections::BTreeMap;

use super::super::{AgentEvent, Operation, Orders};
use super::*;

#[test]
fn an_answer_that_is_late_is_not_the_answer_to_the_next_order() {
    let mut owed = OwedAnswers::new(2);
    let mut orders = Orders::default();
    let ask = || [0, 1].map(|node| (node, SurveyOrder::Open(Vec::new()))).to_vec();
    let answer = |text: &str| {
        let refused = SurveyAnswer::Refused(text.to_owned());
        AgentEvent::Message(FromAgent::Surveyed(refused))
    };
    let is = |text: &str| Some(Ok(SurveyAnswer::Refused(text.to_owned())));
    let mut first = owed.query(ask(), Duration::from_secs(3));
    first.begin(0, &mut orders);
    first.handle(0, 1, answer("first"), &mut orders);
    first.tick(u64::MAX, &mut orders);
    assert!(
        first.was_late(0) && !first.was_late(1),
        "an agent that was late is asked nothing more"
    );
    let late = Some(Err("its agent did not answer within 3 s".to_owned()));
    assert_eq!(first.into_answers(), BTreeMap::from([(0, late), (1, is("first"))]));
    let mut second = owed.query(ask(), Duration::from_secs(3));
    second.begin(5_000_000_000, &mut orders);
    second.handle(0, 0, answer("first"), &mut orders);
    second.handle(0, 0, answer("second"), &mut orders);
    second.handle(0, 1, answer("second"), &mut orders);
    assert!(second.is_over());
    let both = BTreeMap::from([(0, is("second")), (1, is("second"))]);
    assert_eq!(second.into_answers(), both);
}
