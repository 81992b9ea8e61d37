//! Notes on the figures of `garland balance`: the state of the caches, and what may have distorted
//! the measurement.

use garland_analysis::conditions::Purpose;
use garland_core::cluster::nodelist;
use garland_fleet::inventory::LAB_PREFIX;
use garland_lab::Lab;
use garland_protocol::measure::DiskCached;
use garland_terminal::notes::guard_rails;

use super::point::PointResult;
use super::request::BalanceRequest;
use super::result::BalanceResult;
use crate::gather::{emulator, shared_disks};

/// Rounds shorter than this, in seconds, are reported as inaccurate.
const SHORT: f64 = 0.2;

/// A point is reported if its fastest round was faster than its slowest one by more than this
/// fraction.
const APART: f64 = 0.2;

/// Returns all notes on `result`; `lab` is the lab of the nodes, if any.
pub fn of(result: &BalanceResult, request: &BalanceRequest, lab: Option<&Lab>) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(proof(result, request));
    notes.extend(places(result));
    let emulated = emulated_disks(result, lab);
    if emulated.is_empty() {
        notes.extend(shared(result));
    } else {
        notes.push(format!(
            "{}: emulated disks: every byte takes disk time, even if it is cached",
            nodelist::fold(&emulated)
        ));
    }
    notes.extend(conditions(result));
    notes.extend(short(result));
    notes.extend(apart(result, request));
    let names = result.nodes.iter().map(|node| node.name.as_str());
    notes.extend(emulator(names, result.cpu, "emulate slower wires and disks, or fewer nodes"));
    let remote = result.points.iter().filter(|point| point.remote > 0);
    let is_told = |point: &PointResult| {
        let mut copies = point.rounds.iter().flat_map(|round| &round.copies);
        copies.any(|copy| !copy.lanes.is_empty())
    };
    if remote.clone().next().is_some() && !remote.clone().any(is_told) {
        notes.push(
            "the kernel has no statistics of the copies' connections (MPTCP has none), so it is unknown \
             whether the network is the bottleneck"
                .to_owned(),
        );
    }
    notes
}

/// Returns the note that says whether the caches were as cold or warm as requested.
fn proof(result: &BalanceResult, request: &BalanceRequest) -> Option<String> {
    let rounds = result.points.iter().flat_map(|point| &point.rounds);
    let copies: Vec<_> = rounds.flat_map(|round| &round.copies).collect();
    let told: Vec<DiskCached> = copies.iter().filter_map(|copy| copy.cached).collect();
    let Some(any) = told.first() else {
        let wanted = result.cache;
        return (!copies.is_empty()).then(|| {
            format!("{wanted} caches not proven: the kernel does not report what is cached")
        });
    };
    let way = if any.by_cachestat { "cachestat" } else { "mincore" };
    let is_odd = |cached: &DiskCached| match request.cold {
        true => cached.cached > 0,
        false => cached.cached < cached.pages,
    };
    let pages: u64 = told.iter().map(|cached| cached.pages).sum();
    let cached: u64 = told.iter().map(|cached| cached.cached).sum();
    let mut odd: Vec<&str> = copies
        .iter()
        .filter(|copy| copy.cached.as_ref().is_some_and(is_odd))
        .map(|copy| copy.from.as_str())
        .collect();
    odd.sort_unstable();
    odd.dedup();
    let count = told.len();
    Some(match (odd.is_empty(), request.cold) {
        (true, true) => format!(
            "cold caches proven: 0 of {pages} pages in memory before {count} copies ({way})"
        ),
        (true, false) => format!(
            "warm caches proven: all of {pages} pages in memory before {count} copies ({way})"
        ),
        (false, cold) => format!(
            "{}: caches not {}: {cached} of {pages} pages in memory before {count} copies ({way})",
            nodelist::fold(&odd),
            if cold { "cold" } else { "warm" }
        ),
    })
}

/// Returns a note that names the nodes whose directory is in memory; none if there are none.
fn places(result: &BalanceResult) -> Option<String> {
    let memory = result.nodes.iter().filter_map(|node| {
        let place = node.place.as_ref().filter(|place| place.in_memory)?;
        Some((node.name.as_str(), place.system.as_str()))
    });
    let (names, systems): (Vec<&str>, Vec<&str>) = memory.unzip();
    let system = systems.first()?;
    Some(format!("{}: {system} is in memory: no disk was tested", nodelist::fold(&names)))
}

/// Returns the nodes of a lab that have an emulated disk.
fn emulated_disks<'a>(result: &'a BalanceResult, lab: Option<&Lab>) -> Vec<&'a str> {
    let Some(lab) = lab else { return Vec::new() };
    let has = |name: &&str| {
        let name = name.strip_prefix(LAB_PREFIX).unwrap_or(name);
        lab.disk(name).is_ok_and(|disk| disk.is_some())
    };
    result.nodes.iter().map(|node| node.name.as_str()).filter(has).collect()
}

/// Returns a note for each disk that several nodes shared.
fn shared(result: &BalanceResult) -> Vec<String> {
    let places = result.nodes.iter().map(|node| (node.name.as_str(), node.place.as_ref()));
    let line = |(device, names)| {
        format!("{names}: all on {device} of one machine, so their copies slow each other down")
    };
    shared_disks(places).into_iter().map(line).collect()
}

/// Returns notes on conditions of the nodes that may distort rates, such as power saving.
fn conditions(result: &BalanceResult) -> Vec<String> {
    let nodes = result.nodes.iter().map(|node| (node.name.as_str(), &node.conditions));
    guard_rails(&nodes.collect::<Vec<_>>(), Purpose::Rates)
}

/// Returns a note if a round was shorter than [`SHORT`].
fn short(result: &BalanceResult) -> Option<String> {
    let rounds = result.points.iter().flat_map(|point| &point.rounds);
    let least = rounds.map(|round| round.seconds).fold(f64::INFINITY, f64::min);
    (least < SHORT).then(|| {
        format!(
            "the shortest round took only {:.0} ms, including the start of the copies: use larger files",
            least * 1000.0
        )
    })
}

/// Returns a note on the point with the largest spread between its rounds, if that exceeds
/// [`APART`].
fn apart(result: &BalanceResult, request: &BalanceRequest) -> Option<String> {
    let spread = |point: &PointResult| {
        let rates = || point.rounds.iter().map(|round| round.rate);
        rates().fold(0.0, f64::max) / rates().fold(f64::INFINITY, f64::min) - 1.0
    };
    let worst = result.points.iter().max_by(|one, two| spread(one).total_cmp(&spread(two)))?;
    let text = &worst.text;
    let remote = worst.remote;
    let apart = spread(worst);
    (apart > APART).then(|| {
        let more = if request.rounds < 10 { "; use more --rounds" } else { "" };
        format!(
            "the rates of rounds differ by up to {:.0} % ({text}, {remote} remote): directions or pairs \
             differ, or other programs were running{more}",
            apart * 100.0
        )
    })
}
