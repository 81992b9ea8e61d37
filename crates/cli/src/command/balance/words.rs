//! The verdict in words, with the figures that it rests on.

use garland_core::analysis::balance::{Balance, Point, Resource, balance};

use super::result::{PointResult, VerdictResult};

/// A gain of less than this share isn't worth its price.
const GAIN: f64 = 0.05;

/// Where the balance lies, for each size among `points`, of so many pairs.
pub fn verdicts(points: &[PointResult], pairs: usize) -> Vec<VerdictResult> {
    points.chunk_by(|one, two| one.text == two.text).map(|one| verdict(one, pairs)).collect()
}

fn verdict(points: &[PointResult], pairs: usize) -> VerdictResult {
    let point = |point: &PointResult| Point {
        remote: point.remote,
        rate: point.rate,
        binds: point.binding.resource,
    };
    let found = balance(&points.iter().map(point).collect::<Vec<_>>());
    VerdictResult {
        size: points.first().map_or(0, |point| point.size),
        balance: match found {
            Balance::At(remote) => Some(remote),
            Balance::AtOnce => Some(0),
            Balance::Never | Balance::Unknown => None,
        },
        text: place(points, pairs, found),
        upgrades: if found == Balance::Unknown { Vec::new() } else { upgrades(points) },
    }
}

/// Which binds where.
fn place(points: &[PointResult], pairs: usize, found: Balance) -> String {
    let at = |remote: usize| points.iter().find(|point| point.remote == remote);
    let last = points.iter().max_by_key(|point| point.remote);
    let figures = |point: Option<&PointResult>| {
        point.map(|point| format!("{:.2} MB/s at {}", point.rate / 1e6, point.remote))
    };
    match found {
        Balance::At(remote) => {
            let binds = at(remote).and_then(|point| point.binding.resource);
            let name = binds.map_or("something else binds", bind);
            format!(
                "up to {remote} of {pairs} copies remote {name} ({}), beyond it the network ({}): the \
                 balance lies at {remote}",
                figures(at(remote)).unwrap_or_default(),
                figures(last).unwrap_or_default(),
            )
        }
        Balance::AtOnce => format!(
            "the network binds as soon as a copy is remote ({})",
            [figures(at(0)), figures(at(1).or(last))]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", ")
        ),
        Balance::Never => {
            let used = points.iter().map(|point| point.binding.shares.network).fold(0.0, f64::max);
            let most = Resource::ALL.into_iter().max_by_key(|&resource| {
                points.iter().filter(|point| point.binding.resource == Some(resource)).count()
            });
            format!(
                "{} at every number of remote copies ({}); the network is in use for {:.0} % of the \
                 time at most",
                bind(most.unwrap_or(Resource::Disk)),
                figures(last).unwrap_or_default(),
                used * 100.0
            )
        }
        Balance::Unknown => {
            let shares = last.map(|point| point.binding.shares).unwrap_or_default();
            format!(
                "nothing is in use all the time ({}: disks {:.0} %, network {:.0} %, CPUs {:.0} %): \
                 copies wait for each other's steps, or for what isn't measured",
                figures(last).unwrap_or_default(),
                shares.disk * 100.0,
                shares.network * 100.0,
                shares.cpu * 100.0
            )
        }
    }
}

/// `the disks bind`.
fn bind(resource: Resource) -> &'static str {
    match resource {
        Resource::Disk => "the disks bind",
        Resource::Network => "the network binds",
        Resource::Cpu => "the processors bind",
    }
}

/// What disks or wires twice as fast would give.
fn upgrades(points: &[PointResult]) -> Vec<String> {
    let ends = [points.first(), points.last()].into_iter().flatten();
    let ends: Vec<&PointResult> = match points.len() {
        1 => ends.take(1).collect(),
        _ => ends.collect(),
    };
    let gains = |rate: fn(&PointResult) -> f64| {
        let some = points.iter().any(|point| rate(point) > point.rate * (1.0 + GAIN));
        let figures =
            ends.iter().map(|point| format!("{:.2} MB/s at {}", rate(point) / 1e6, point.remote));
        some.then(|| figures.collect::<Vec<_>>().join(", "))
    };
    let line = |what, gains: Option<String>| match gains {
        Some(gains) => format!("{what} twice as fast would give {gains}"),
        None => format!("{what} twice as fast would give nothing"),
    };
    let (disks, wires) = (gains(|point| point.disk_twice), gains(|point| point.network_twice));
    vec![line("disks", disks), line("wires", wires)]
}
