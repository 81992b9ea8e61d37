//! Agrees on a provider with the other agent, and exchanges the addresses of both endpoints.

use std::net::IpAddr;

use garland_fabric::words::{self, Answer, Open, Opened, Order};
use garland_protocol::measure::check_provider;

use super::child::{Helper, check_shared, unexpected};
use crate::probe::error::ProbeError;

/// Chooses the first provider in the initiator's list that both sides have and that reaches other
/// machines. Both sides return its name.
pub(super) fn agree(
    helper: &mut Helper<'_>,
    initiates: bool,
    source: Option<IpAddr>,
) -> Result<String, ProbeError> {
    let Answer::Providers(ours) = helper.ask(&Order::List(source))? else { return unexpected() };
    if !initiates {
        helper.send(&ours)?;
        let chosen: String = helper.receive()?;
        check_provider(&chosen)?;
        // One of the own machine would open memory that another user of it may have made.
        if !may_be_chosen(&ours, &chosen) {
            return Err(format!("the other node chose the provider {chosen}").into());
        }
        return Ok(chosen);
    }
    let theirs: Vec<String> = helper.receive()?;
    let both = ours.iter().find(|name| theirs.contains(name) && !words::is_local(name));
    let chosen = both.ok_or_else(|| {
        let [ours, theirs] = [&ours, &theirs].map(|names| names.join(", "));
        format!("no libfabric provider in common: this node has {ours}, the other {theirs}")
    })?;
    helper.send(chosen)?;
    Ok(chosen.clone())
}

/// Returns whether a provider is one of `ours` and reaches other machines.
fn may_be_chosen(ours: &[String], provider: &str) -> bool {
    !words::is_local(provider) && ours.iter().any(|own| own == provider)
}

/// Opens an endpoint and connects it to the other side's endpoint. Returns the descriptions of this
/// side's endpoint and of the other one.
pub(super) fn open(helper: &mut Helper<'_>, wish: Open) -> Result<(Opened, Opened), ProbeError> {
    let shares_memory = words::is_local(&wish.provider);
    if shares_memory {
        helper.check_first_memory()?;
    }
    let Answer::Opened(ours) = helper.ask(&Order::Open(wish))? else { return unexpected() };
    if shares_memory {
        check_shared(&ours.peer.address)?;
    }
    helper.send(&ours)?;
    let theirs: Opened = helper.receive()?;
    if shares_memory {
        check_shared(&theirs.peer.address)?;
    }
    match helper.ask(&Order::Meet(theirs.peer.clone()))? {
        Answer::Done => Ok((ours, theirs)),
        _ => unexpected(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_node_chooses_among_own_providers_that_reach_it() {
        let ours = ["tcp", "shm", "verbs;ofi_rxm"].map(str::to_owned);
        for (provider, may_be) in
            [("tcp", true), ("verbs;ofi_rxm", true), ("shm", false), ("udp", false)]
        {
            assert_eq!(may_be_chosen(&ours, provider), may_be, "{provider}");
        }
    }
}
