//! Looks up files on nodes, before a copy from them is planned.

use std::time::Duration;

use super::query::Query;
use crate::copy::{StatReply, StatRequest};
use crate::{FromAgent, ToAgent};

/// Timeout for the lookup of a file: a disk may have to spin up. Trees have no timeout, and neither
/// has what is asked together with one.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends each of `requests` to the node with its index.
#[must_use]
pub fn stat(requests: Vec<StatRequest>) -> Query<'static, Vec<StatReply>> {
    let scans = requests.iter().any(|request| request.tree.is_some());
    let orders = requests.into_iter().map(ToAgent::Stat).enumerate();
    let late = format!("the lookup of the file timed out after {} s", PATIENCE.as_secs());
    let patience = (!scans).then_some((PATIENCE, late));
    Query::new(orders, patience, |_, message| match message {
        FromAgent::Looked(reply) => Some(reply),
        _ => None,
    })
}
