//! Nodes that come when the copy is under way.

use garland_core::proto::{HeadEvent, ToAgent};
use garland_core::trace::Exchange;
use garland_sys::clock;

use super::Driver;

impl Driver<'_> {
    /// Takes in the nodes that couldn't be had at first and came since.
    pub(super) fn take_in_late(&mut self) {
        let job = self.job;
        let Some(late) = &job.late else { return };
        let came: Vec<_> = late.try_iter().collect();
        for (id, agent) in came {
            let has_failed = self.before.get(id.index() - 1).is_some_and(Option::is_some);
            if self.finished || self.interrupted || !has_failed {
                continue;
            }
            let (now, at) = (clock::now_ns(), id.index());
            self.before[at - 1] = None;
            self.addresses[at - 1].clone_from(&agent.addresses);
            self.heard_ns[at] = now;
            self.started[at] = true;
            self.late.push(id);
            self.board.seat(id, agent.connection);
            self.head.handle(now, HeadEvent::Joined(id, agent.addresses));
            // All isn't there before it has all, too.
            (self.moments.held, self.moments.committed) = (None, None);
            self.exchanges.asked(id, Exchange::Begin, &self.member.trace);
            let begin = self.begin_of(id);
            self.board.send(id, &ToAgent::Begin(Box::new(begin)));
        }
    }
}
