//! Agrees on a provider with the other agent, and exchanges the addresses of both endpoints.

use std::net::IpAddr;

use garland_fabric::words::{self, Answer, Open, Opened, Order};
use garland_protocol::check_provider;

use super::child;
use super::session::FabricSession;

/// Chooses the first provider in the initiator's list that both sides have and that reaches other
/// machines.
pub(super) fn agree(
    session: &mut FabricSession<'_>,
    initiates: bool,
    source: Option<IpAddr>,
) -> Result<String, String> {
    let Answer::Providers(ours) = session.ask(&Order::List(source))? else {
        return Err(child::out_of_turn());
    };
    if !initiates {
        session.send(&ours)?;
        let chosen: String = session.receive()?;
        return check_provider(&chosen).map(|()| chosen);
    }
    let theirs: Vec<String> = session.receive()?;
    let both = ours.iter().find(|name| theirs.contains(name) && !words::is_local(name));
    let chosen = both.ok_or_else(|| {
        let list = |names: &[String]| names.join(", ");
        format!(
            "the nodes have no libfabric provider in common: this one has {}, the other {}",
            list(&ours),
            list(&theirs)
        )
    })?;
    session.send(chosen)?;
    Ok(chosen.clone())
}

/// Opens an endpoint and connects it to the other side's. Returns both.
pub(super) fn open(
    session: &mut FabricSession<'_>,
    wish: Open,
) -> Result<(Opened, Opened), String> {
    let Answer::Opened(ours) = session.ask(&Order::Open(wish))? else {
        return Err(child::out_of_turn());
    };
    session.send(&ours)?;
    let theirs: Opened = session.receive()?;
    match session.ask(&Order::Meet(theirs.peer.clone()))? {
        Answer::Done => Ok((ours, theirs)),
        _ => Err(child::out_of_turn()),
    }
}
