//! The standing chain: links between neighbours, opened before a copy needs them.

use std::net::SocketAddr;

use garland_protocol::{CopyId, Secret};

use crate::agent::Agent;
use crate::expected::Expected;
use garland_transport::link::{self, Dial, Hop};

/// The maximum number of links that one order may request.
const MOST: usize = 64;

/// Opens a standing link to each of `addresses` that has none yet, and accepts links from
/// neighbours that know `secret`. Returns an error message for each link that failed. Addresses
/// beyond the maximum are ignored.
pub fn stand(
    agent: &Agent,
    order: CopyId,
    secret: &Secret,
    addresses: &[SocketAddr],
) -> Vec<String> {
    let Some(link_pool) = &agent.link_pool else {
        return vec!["its agent keeps no links, since it exits with the controller".to_owned()];
    };
    agent.expected.add(order, Expected::Link(secret.clone()));
    let transport = agent.config.transport;
    let hop = Hop { lane: 0, epoch: 0 };
    let open = |&address: &SocketAddr| {
        let to = Dial { address, copy: order, hop, secret, congestion: &[], transport };
        link::dial(&to, None)
            .map(|stream| link_pool.park(stream, Some(address)))
            .map_err(|error| format!("cannot open a link to {address}: {error}"))
    };
    let missing = addresses.iter().take(MOST).filter(|address| link_pool.count_to(**address) == 0);
    missing.filter_map(|address| open(address).err()).collect()
}
