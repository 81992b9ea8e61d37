//! Looks up files on nodes, before a copy from them is planned.

use std::time::Duration;

use super::query::Query;
use crate::copy::{StatReply, StatRequest};
use crate::{FromAgent, ToAgent};

/// How long an agent may take to look up a file, or be silent while it scans a tree: a disk may
/// have to spin up.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(30);

/// How much longer than ten times as long as most others a scan may take. Those that have answered
/// wait for it.
const STRAGGLER_TIMEOUT: Duration = Duration::from_secs(3600);

/// Sends each of `requests` to the node with its index. A scan may take its time, if its agent says
/// all the while that it goes on; one that is silent, as while its disk does not answer, holds up
/// no other node, and one that takes much longer than most for a time only.
#[must_use]
pub fn stat(requests: Vec<StatRequest>) -> Query<'static, Vec<StatReply>> {
    let scans = requests.iter().any(|request| request.tree.is_some());
    let orders = requests.into_iter().map(ToAgent::Stat).enumerate();
    let seconds = LOOKUP_TIMEOUT.as_secs();
    let late = match scans {
        true => format!("looking for the files: no progress for {seconds} s"),
        false => format!("the lookup of the file timed out after {seconds} s"),
    };
    let query = Query::new(orders, Some((LOOKUP_TIMEOUT, late)), |_, message| match message {
        FromAgent::Looked(reply) => Some(reply),
        _ => None,
    });
    // The lookup of a file has an end, whatever its agent says.
    match scans {
        true => query
            .limiting_silence(|message| matches!(message, FromAgent::Looking))
            .limiting_stragglers(
                STRAGGLER_TIMEOUT,
                "looking for the files takes it ten times as long as others; copy from it alone"
                    .to_owned(),
            ),
        false => query,
    }
}

#[cfg(test)]
mod tests {
    use garland_core::tree::SourcePath;

    use super::*;
    use crate::copy::TreeStatRequest;
    use crate::operation::{AgentEvent, Operation, Orders};

    const SECOND_NS: u64 = 1_000_000_000;

    fn scan() -> StatRequest {
        let tree = TreeStatRequest {
            files_only: false,
            excludes: Vec::new(),
            attributes: false,
            one_file_system: false,
            tells_absence: false,
        };
        let paths = vec![SourcePath::Literal(b"d".to_vec())];
        StatRequest { paths, stripes: false, tree: Some(tree) }
    }

    #[test]
    fn a_scan_may_take_long_and_one_that_is_silent_holds_up_no_other_node() {
        let mut query = stat(vec![scan(), scan(), scan()]);
        let mut orders = Orders::default();
        query.begin(0, &mut orders);
        let mut handle = |query: &mut Query<'_, _>, second, node, message| {
            query.handle(second * SECOND_NS, node, AgentEvent::Message(message), &mut orders);
            query.tick(second * SECOND_NS, &mut orders);
        };
        // The first has its answer soon, the second scans for minutes, and the third only lives.
        handle(&mut query, 1, 0, FromAgent::Looked(Ok(Vec::new())));
        for second in 1..=30 {
            handle(&mut query, second, 1, FromAgent::Looking);
            handle(&mut query, second, 2, FromAgent::Heartbeat(Vec::new()));
        }
        assert!(!query.has_answered(2), "there is still time");
        for second in 31..300 {
            handle(&mut query, second, 1, FromAgent::Looking);
            handle(&mut query, second, 2, FromAgent::Heartbeat(Vec::new()));
        }
        assert!(query.was_late(2) && !query.has_answered(1) && !query.is_over());
        handle(&mut query, 300, 1, FromAgent::Looked(Ok(Vec::new())));
        assert!(query.is_over());
        let answers = query.into_answers();
        let failed = answers[&2].clone().map(|answer| answer.unwrap_err());
        let why = failed.unwrap_or_default();
        assert!(why == "looking for the files: no progress for 30 s", "{why}");
        assert!(matches!((&answers[&0], &answers[&1]), (Some(Ok(_)), Some(Ok(_)))));
    }

    #[test]
    fn a_scan_that_takes_much_longer_than_most_is_not_waited_for_for_ever() {
        let mut query = stat(vec![scan(), scan(), scan()]);
        let mut orders = Orders::default();
        query.begin(0, &mut orders);
        let mut ended = None;
        for second in 1..=7200 {
            // Two of three take a minute.
            for node in 0..3 {
                let message = match second == 60 && node < 2 {
                    true => FromAgent::Looked(Ok(Vec::new())),
                    false => FromAgent::Looking,
                };
                query.handle(second * SECOND_NS, node, AgentEvent::Message(message), &mut orders);
            }
            query.tick(second * SECOND_NS, &mut orders);
            if query.is_over() && ended.is_none() {
                ended = Some(second);
            }
        }
        assert!(ended.is_some_and(|ended| (4200..4205).contains(&ended)), "{ended:?}");
        assert!(query.was_late(2) && !query.was_late(0));
    }

    #[test]
    fn one_of_two_nodes_does_not_end_the_scan_of_the_other_one() {
        for first in [Ok(Vec::new()), Err("no such file".to_owned())] {
            let mut query = stat(vec![scan(), scan()]);
            let mut orders = Orders::default();
            query.begin(0, &mut orders);
            let answer = AgentEvent::Message(FromAgent::Looked(first));
            query.handle(SECOND_NS, 0, answer, &mut orders);
            for second in 1..100_000 {
                let looking = AgentEvent::Message(FromAgent::Looking);
                query.handle(second * SECOND_NS, 1, looking, &mut orders);
                query.tick(second * SECOND_NS, &mut orders);
            }
            assert!(!query.is_over());
        }
    }

    #[test]
    fn the_lookup_of_a_file_ends_whatever_its_agent_says() {
        let file = StatRequest { tree: None, ..scan() };
        let mut query = stat(vec![file]);
        let mut orders = Orders::default();
        query.begin(0, &mut orders);
        for second in 1..=31 {
            let looking = AgentEvent::Message(FromAgent::Looking);
            query.handle(second * SECOND_NS, 0, looking, &mut orders);
            query.tick(second * SECOND_NS, &mut orders);
        }
        assert!(query.is_over() && query.was_late(0));
    }
}
