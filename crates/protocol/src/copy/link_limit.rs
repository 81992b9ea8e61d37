//! Limits of a node's own, which keep it from opening a link. A link may fail between two nodes
//! that are alive for a fault of the network, but also because one of them lacks something.

/// What the reason of a lost link contains if a limit of the node that told it is reached; the
/// limit, and where it is set (agents and the head use all that the hard limit allows). Of two that
/// fit, the first one counts.
const LIMITS: [(&str, &str, &str); 4] = [
    ("too many open files in system", "open files of the kernel", "sysctl fs.file-max"),
    ("too many open files", "open files", "ulimit -Hn"),
    ("cannot start a thread", "processes and threads", "ulimit -u"),
    ("cannot assign requested address", "local ports", "sysctl net.ipv4.ip_local_port_range"),
];

/// Returns what helps if the node `by` lost a link for `reason` because it has reached a limit of
/// its own; `None` if the fault may be anywhere between the ends.
#[must_use]
pub fn advice_on_own_limit(reason: &str, by: &str) -> Option<String> {
    let found = LIMITS.iter().find(|(words, ..)| reason.contains(words));
    found.map(|(_, limit, setting)| format!("raise the limit of {limit} on {by}: {setting}"))
}
