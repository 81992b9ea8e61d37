//! The standing chain: links to the next node, opened before a copy needs them.

use std::net::SocketAddr;
use std::sync::Arc;

use garland_protocol::{CopyId, Keys, Secret};

use crate::agent::Agent;
use crate::expected::Expected;
use garland_transport::link::{self, Dial, Hop};
use garland_transport::link_pool::LinkPool;

/// The most links of one order.
const MOST: usize = 64;

/// Executes an order to open standing links: accepts the neighbour which knows `secret`, and
/// connects to those at `addresses`. Returns those that failed, and why.
pub fn stand(
    agent: &Agent,
    order: CopyId,
    secret: &Secret,
    addresses: &[SocketAddr],
) -> Vec<String> {
    let Some(link_pool) = agent.link_pool() else {
        return vec!["it doesn't stay, and so keeps no links".to_owned()];
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
    let stream = link::dial(to, None).map_err(|error| format!("linking to {address}: {error}"))?;
    link_pool.park(stream, Some(address));
    Ok(())
}
