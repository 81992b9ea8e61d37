//! Looks up files on nodes, before a copy from them is planned.

use std::time::Duration;

use super::query::Query;
use crate::copy::{StatReply, StatRequest};
use crate::{FromAgent, ToAgent};

/// Timeout for the lookup of a file: a disk may have to spin up. Trees have no timeout.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends `request` to `count` nodes.
#[must_use]
pub fn stat(count: usize, request: &StatRequest) -> Query<'static, Vec<StatReply>> {
    let orders = (0..count).map(|node| (node, ToAgent::Stat(request.clone())));
    let late = format!("the lookup of the file timed out after {} s", PATIENCE.as_secs());
    let patience = request.tree.is_none().then_some((PATIENCE, late));
    Query::new(orders, patience, |_, message| match message {
        FromAgent::Looked(reply) => Some(reply),
        _ => None,
    })
}
