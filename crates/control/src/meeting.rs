//! Meetings of agents, in which they measure.

use std::io;

use garland_protocol::copy::CopyId;
use garland_protocol::measure::Finding;
use garland_protocol::operation::{MeetingKeys, MeetingRound, Pair, PairEnd};
use garland_protocol::wire::Secret;
use garland_sys::random;

use crate::session::Session;

/// Makes all `pairs` meet at the same time. Returns how each meeting ended, and its findings, each
/// finding with the index of its node.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn meet(
    session: &mut Session<'_>,
    pairs: &[Pair],
) -> io::Result<impl Iterator<Item = (PairEnd, Vec<(usize, Finding)>)> + use<>> {
    let pairs = pairs.iter().map(|pair| {
        let keys = MeetingKeys { id: CopyId(random::bytes()), secret: Secret(random::bytes()) };
        (pair.clone(), keys)
    });
    let round = MeetingRound::new(pairs, session.addresses());
    Ok(session.run(round, &mut |_| {})?.into_ends())
}
