//! Drives the operation with messages and times, without sockets.

use super::*;
use crate::measure::{DiskDirection, DiskMode, DiskOnly, DiskPattern, DiskTimes};

fn new_course(one_by_one: bool) -> DiskCourse {
    let only = DiskOnly::default();
    let order = DiskOrder { path: Vec::new(), size: 0, time_ns: 0, depth: 1, only };
    DiskCourse::new(2, order, one_by_one)
}

fn begun(course: &mut DiskCourse, now_ns: u64) -> Vec<usize> {
    let mut orders = Orders::default();
    course.tick(now_ns, &mut orders);
    orders.take().into_iter().map(|(node, _)| node).collect()
}

#[test]
fn a_test_one_by_one_goes_on_when_a_node_has_ended_and_a_hanging_disk_is_given_up() {
    let mut course = new_course(true);
    let mut orders = Orders::default();
    assert_eq!(begun(&mut course, 1), [0]);
    assert!(begun(&mut course, GRACE_NS).is_empty());
    let done = AgentEvent::Message(FromAgent::Disk(DiskEvent::Done));
    course.handle(GRACE_NS, 0, done, &mut orders);
    assert_eq!(begun(&mut course, GRACE_NS), [1]);
    assert!(begun(&mut course, 2 * GRACE_NS).is_empty() && !course.is_over());
    assert!(begun(&mut course, 2 * GRACE_NS + 1).is_empty() && course.is_over());
    let hangs = "its disk hangs: no measurement completed within 30 s".to_owned();
    let ends = course.nodes.into_iter().map(|node| node.end);
    assert!(ends.eq([Some(DiskEnd::Done), Some(DiskEnd::Failed(hangs))]));
}

#[test]
fn an_interrupt_keeps_the_ends_that_are_known() {
    let mut course = new_course(false);
    let mut orders = Orders::default();
    assert_eq!(begun(&mut course, 1), [0, 1]);
    course.handle(2, 1, AgentEvent::Lost("it exited".to_owned()), &mut orders);
    course.interrupt(3, &mut orders);
    assert!(course.is_over());
    let failed = DiskEnd::Failed("it exited".to_owned());
    let ends = course.nodes.into_iter().map(|node| node.end);
    assert!(ends.eq([Some(DiskEnd::Interrupted), Some(failed)]));
}

#[test]
fn a_result_that_is_reported_again_is_not_kept_and_is_no_progress() {
    let mut course = new_course(false);
    let mut orders = Orders::default();
    assert_eq!(begun(&mut course, 1), [0, 1]);
    let measured = |block| {
        let direction = DiskDirection::Read;
        let pattern = DiskPattern::Random;
        let job = DiskJob { direction, pattern, mode: DiskMode::Direct, depth: 1, block };
        let times = DiskTimes::default();
        let figures = DiskFigures {
            job,
            bytes: 1,
            operations: 1,
            elapsed_ns: 1,
            sync_ns: 0,
            times,
            busy_ns: 1,
            before: None,
            after: None,
        };
        AgentEvent::Message(FromAgent::Disk(DiskEvent::Measured(Box::new(figures))))
    };
    course.handle(2, 0, measured(0), &mut orders);
    (0..1000).for_each(|_| course.handle(GRACE_NS, 0, measured(0), &mut orders));
    // Also results of kinds that nobody asked for come to an end.
    (0..1000).for_each(|block| course.handle(GRACE_NS, 1, measured(block), &mut orders));
    assert_eq!(course.nodes[0].figures.len(), 1);
    assert_eq!(course.nodes[1].figures.len(), FIGURES_MAX);
    begun(&mut course, GRACE_NS + 3);
    assert!(course.nodes[0].end.is_some(), "its disk hangs");
    assert!(course.nodes[1].end.is_none(), "its results were new");
}
