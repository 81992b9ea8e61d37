//! The standing chain: links between neighbours, opened before a copy needs them.

use std::net::SocketAddr;

use garland_protocol::copy::CopyId;
use garland_protocol::wire::Secret;
use garland_transport::link::{self, Dial};

use crate::agent::Agent;
use crate::error::OrderError;
use crate::expected::{Expectation, Expected};

/// The maximum number of links that one order may request.
const MAX_LINKS: usize = 64;

/// Opens a standing link to each of `addresses` that has none yet, and accepts links from
/// neighbours that know `secret`. An agent that ends with its controller keeps none: it only finds
/// out whether they can be opened. Returns what accepts links, and an error message for each link
/// that failed. Addresses beyond the maximum are ignored.
///
/// # Errors
/// When another operation has the identity of the order.
pub fn stand(
    agent: &Agent,
    order: CopyId,
    secret: &Secret,
    addresses: &[SocketAddr],
) -> Result<(Expectation, Vec<String>), OrderError> {
    let link_pool = agent.link_pool.as_deref();
    let expectation = agent.expected.add(order, Expected::Link(secret.clone()))?;
    let transport = agent.config.transport;
    let open = |&address: &SocketAddr| -> Result<(), String> {
        let to = Dial { address, id: order, secret, congestion: &[], transport };
        let dialed = link::dial(&to, None);
        let stream = dialed.map_err(|error| format!("cannot open a link to {address}: {error}"))?;
        if let Some(link_pool) = link_pool {
            link_pool.park(stream, Some(address));
        }
        Ok(())
    };
    let is_kept = |address| link_pool.is_some_and(|pool| pool.count_to(address) > 0);
    let missing = addresses.iter().take(MAX_LINKS).filter(|address| !is_kept(**address));
    Ok((expectation, missing.filter_map(|address| open(address).err()).collect()))
}
