//! The standing chain: links between neighbours, opened before a copy needs them.

use std::net::SocketAddr;
use std::sync::Arc;

use garland_protocol::{CopyId, Keys, Secret};

use crate::agent::Agent;
use crate::expected::Expected;
use garland_transport::link::{self, Dial, Hop};
use garland_transport::link_pool::LinkPool;

/// The most links of one order.
const MOST: usize = 64;

/// Opens standing links to the agents at `addresses`, and accepts links from neighbours that know
/// `secret`. Returns an error message for each link that failed.
pub fn stand(
    agent: &Agent,
    order: CopyId,
    secret: &Secret,
    addresses: &[SocketAddr],
) -> Vec<String> {
    let Some(link_pool) = agent.link_pool() else {
        return vec!["its agent exits with the controller and so keeps no links".to_owned()];
    };
    let keys = Arc::new(Keys::new(secret, order));
    agent.expected().add(order, Expected::Link(secret.clone(), Arc::clone(&keys)));
    let transport = agent.transport();
    let open = |&address: &SocketAddr| {
        let hop = Hop { copy: order, lane: 0, epoch: 0 };
        open(link_pool, &Dial { address, hop, secret, keys: &keys, congestion: &[], transport })
    };
    addresses.iter().take(MOST).filter_map(|address| open(address).err()).collect()
}

fn open(link_pool: &LinkPool, to: &Dial<'_>) -> Result<(), String> {
    let address = to.address;
    if link_pool.count_to(address) > 0 {
        return Ok(());
    }
    let stream = link::dial(to, None)
        .map_err(|error| format!("cannot open a link to {address}: {error}"))?;
    link_pool.park(stream, Some(address));
    Ok(())
}
