//! Keys that several sections have.

use garland_core::form::{FormProblem, Section};
use garland_core::units::Rate;

use super::error::{Fault, TopologyFileProblem};
use crate::shapes::{Between, Joined, Segment};
use crate::{Medium, MediumKind, Selector};

/// Reads the rate at `key`.
pub(super) fn rate(section: &Section<'_>, key: &'static str) -> Result<Option<Rate>, Fault> {
    Ok(section.read(key, str::parse::<Rate>)?)
}

/// Reads the key `mtu`, in bytes: at least the 576 that every IPv4 host must accept, at most the
/// 65535 that the header can express (RFC 791, 3.1).
pub(super) fn read_mtu(section: &Section<'_>) -> Result<Option<u16>, Fault> {
    let mtu = section.integer("mtu", 576..=65535)?;
    Ok(mtu.and_then(|mtu| u16::try_from(mtu).ok()))
}

/// Turns collisions on all hubs of `media` on or off; returns whether there is a hub.
pub(super) fn set_collisions(media: &mut [Medium], wanted: bool) -> bool {
    let mut found = false;
    for medium in media {
        if let MediumKind::Hub { collisions } = &mut medium.kind {
            (*collisions, found) = (wanted, true);
        }
    }
    found
}

/// Returns the fault that `key` is not allowed here; `reason` says why, and what to do.
pub(super) fn out_of_place(section: &Section<'_>, key: &'static str, reason: &str) -> Fault {
    let message = format!("`{key}` is not allowed here: {reason}");
    Fault::contents(section.span_of(key), message)
}

/// The values of `segments`.
pub(super) const SEGMENTS: [(&str, Segment); 2] =
    [("hub", Segment::Hub), ("switch", Segment::Switch)];

/// The values of `joined`.
pub(super) const JOINED: [(&str, Joined); 2] =
    [("routed", Joined::Routed), ("switched", Joined::Switched)];

/// The values of `between`.
pub(super) const BETWEEN: [(&str, Between); 2] =
    [("isolated", Between::Isolated), ("forwarded", Between::Forwarded)];

/// The values of `selector`.
pub(super) const SELECTORS: [(&str, Selector); 3] =
    [("packet", Selector::Packet), ("flow", Selector::Flow), ("subflow", Selector::Subflow)];

/// Returns the fault that the value of `key` is invalid.
pub(super) fn value(entry: &Section<'_>, key: &'static str, reason: &str) -> Fault {
    let problem = FormProblem::Value { key: key.to_owned(), reason: reason.to_owned() };
    Fault::new(entry.span_of(key), TopologyFileProblem::Form(problem))
}
