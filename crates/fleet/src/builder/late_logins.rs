//! The logins for which a command does not wait.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use garland_core::cluster::Node;
use garland_state::places::KeyLease;

use crate::launch::SilentLogins;

/// The nodes of a fleet that have not answered their logins, for which a command has not waited.
/// The logins go on; dropping this ends them.
#[derive(Default)]
pub struct LateLogins {
    /// The indexes of the nodes.
    pub places: Vec<usize>,
    pub(super) silent: SilentLogins,
    /// That of the key whose owner the agents serve; none if no node is late.
    pub(super) lease: Option<KeyLease>,
    /// Whether agents at addresses of other machines take part.
    pub(super) beside_others: Arc<AtomicBool>,
}

impl LateLogins {
    /// Creates the value for the logins `silent` on some of `nodes`, whose agents are to serve the
    /// owner of the key of `lease`.
    pub(super) fn new(nodes: &[Node], silent: SilentLogins, lease: KeyLease) -> Self {
        let late = nodes.iter().enumerate().filter(|(_, node)| silent.has(&node.name));
        let places: Vec<usize> = late.map(|(place, _)| place).collect();
        let lease = (!places.is_empty()).then_some(lease);
        Self { places, silent, lease, beside_others: Arc::default() }
    }
}
