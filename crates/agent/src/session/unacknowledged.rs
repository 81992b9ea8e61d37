//! What a peer that is no controller may leave unacknowledged: each message is kept until the peer
//! says that it has arrived, so that one which says nothing would use up the agent's memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use garland_protocol::Role;
use garland_protocol::wire::Delivery;
use garland_sys::clock;

/// The bytes that the members of a cluster may leave unacknowledged in all of their sessions.
/// Beyond it no session of theirs may have more than [`OWN_MIN`].
const ALL_MAX: usize = 16 << 20;

/// The bytes that a session may always leave unacknowledged.
const OWN_MIN: usize = 64 << 10;

/// Whoever acknowledges as it should never has more than this for long, however much others leave.
const _: () = assert!(Delivery::UNTOLD_MAX < OWN_MIN);

/// How long a node may leave more than [`OWN_MIN`] as it is.
pub const UNSETTLED_MAX: Duration = Duration::from_secs(10);

/// The bytes that one session has left unacknowledged, as far as they are limited: those of a
/// controller are not.
pub struct Unacknowledged {
    role: Role,
    /// The bytes of all members, with this one's among them.
    all: Arc<AtomicUsize>,
    /// The time of the last acknowledgement, in monotonic nanoseconds.
    settled_ns: AtomicU64,
}

impl Unacknowledged {
    /// Creates the count of a session of this role; `all` is that of all sessions.
    pub fn new(role: Role, all: Arc<AtomicUsize>) -> Self {
        Self { role, all, settled_ns: AtomicU64::new(clock::now_ns()) }
    }

    /// Returns whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.role != Role::Controller
    }

    /// Notes that a message of `bytes` is sent.
    pub fn sent(&self, bytes: usize) {
        if self.is_limited() {
            self.all.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Notes that messages of `bytes` were acknowledged, or are kept no longer.
    pub fn settled(&self, bytes: usize) {
        self.settled_ns.store(clock::now_ns(), Ordering::Relaxed);
        if self.is_limited() {
            self.all.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Returns whether a session that has left `own` bytes has left more than it may.
    pub fn is_too_much(&self, own: usize) -> bool {
        let all = self.all.load(Ordering::Relaxed);
        self.is_limited()
            && (own > self.role.budget().unacknowledged_bytes || own > OWN_MIN && all > ALL_MAX)
    }

    /// Returns whether a session that has left `own` bytes takes messages and acknowledges none.
    pub fn is_too_old(&self, own: usize) -> bool {
        let since_ns = clock::now_ns().saturating_sub(self.settled_ns.load(Ordering::Relaxed));
        self.is_limited() && own > OWN_MIN && Duration::from_nanos(since_ns) >= UNSETTLED_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_share_a_limit_and_each_has_one_and_a_controller_none() {
        let all = Arc::<AtomicUsize>::default();
        let of = |role| Unacknowledged::new(role, Arc::clone(&all));
        let member = of(Role::Member);
        let own_max = Role::Member.budget().unacknowledged_bytes;
        member.sent(own_max);
        assert!(!member.is_too_much(own_max) && member.is_too_much(own_max + 1));
        of(Role::FarmNode).sent(ALL_MAX);
        assert!(member.is_too_much(OWN_MIN + 1) && !member.is_too_much(OWN_MIN));
        member.settled(own_max);
        assert!(!member.is_too_much(OWN_MIN + 1), "there is room for all");
        assert!(!member.is_too_old(own_max), "it has just acknowledged");
        let controller = of(Role::Controller);
        controller.sent(1 << 40);
        assert!(!controller.is_too_much(1 << 40));
        assert_eq!(all.load(Ordering::Relaxed), ALL_MAX);
    }
}
