//! Whether the other end of a connection answers.

use std::time::Duration;

/// Whether the other end of a simulated connection answers: what production code asks of
/// [`TcpInfo`](crate::tcp_info::TcpInfo).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    /// Whether the other end has closed the connection in order, not by a reset.
    pub(crate) peer_closed: bool,
    /// The number of consecutive unanswered retransmissions.
    pub(crate) vain: u8,
    /// The time since the last acknowledgement from the other end.
    pub(crate) unheard: Duration,
}
