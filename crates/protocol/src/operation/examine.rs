//! The examination of nodes before a copy.

use std::time::Duration;

use super::query::Query;
use crate::copy::Examination;
use crate::{FromAgent, ToAgent};

/// Timeout for an examination: a disk may have to spin up.
const EXAMINATION_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks `count` nodes to examine themselves, and the directory of the destination `path`.
#[must_use]
pub fn examine(count: usize, path: &[u8]) -> Query<'static, Examination> {
    let orders = (0..count).map(|node| (node, ToAgent::Examine(path.to_vec())));
    let late = format!("its disk did not answer within {} s", EXAMINATION_TIMEOUT.as_secs());
    Query::new(orders, Some((EXAMINATION_TIMEOUT, late)), |_, message| match message {
        FromAgent::Examined(reply) => Some(reply.map(|reply| *reply)),
        _ => None,
    })
}
