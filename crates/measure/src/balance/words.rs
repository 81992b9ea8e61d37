//! Describes the verdicts in words.

use garland_analysis::balance::{Balance, Point, Resource, balance};

use super::point::{PointResult, VerdictResult};

/// A forecast gain below this fraction is reported as no gain.
const GAIN: f64 = 0.05;

/// Returns a verdict for each file size. Points of one size are adjacent in `points`. `pairs` is
/// the number of copies that ran at once.
pub fn verdicts(points: &[PointResult], pairs: usize) -> Vec<VerdictResult> {
    points.chunk_by(|one, two| one.text == two.text).map(|one| verdict(one, pairs)).collect()
}

fn verdict(points: &[PointResult], pairs: usize) -> VerdictResult {
    let point = |point: &PointResult| Point { remote: point.remote, binds: point.binding.resource };
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

/// Returns the verdict `found` in words: the numbers of remote copies at which disks or the network
/// are the bottleneck.
fn place(points: &[PointResult], pairs: usize, found: Balance) -> String {
    let at = |remote: usize| points.iter().find(|point| point.remote == remote);
    let last = points.iter().max_by_key(|point| point.remote);
    let figures = |point: Option<&PointResult>| {
        point.map(|point| format!("{:.2} MB/s at {}", point.rate / 1e6, point.remote))
    };
    match found {
        Balance::At(remote) => {
            let binds = at(remote).and_then(|point| point.binding.resource);
            let name = binds.map_or("something else is the bottleneck", bind);
            format!(
                "with up to {remote} of {pairs} copies remote {name} ({}), beyond that the network ({}): \
                 the balance is at {remote}",
                figures(at(remote)).unwrap_or_default(),
                figures(last).unwrap_or_default(),
            )
        }
        Balance::AtOnce => format!(
            "the network is the bottleneck as soon as one copy is remote ({})",
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
                "{} with every number of remote copies ({}); the network is in use for at most {:.0} % \
                 of the time",
                bind(most.unwrap_or(Resource::Disk)),
                figures(last).unwrap_or_default(),
                used * 100.0
            )
        }
        Balance::Unknown => {
            let shares = last.map(|point| point.binding.shares).unwrap_or_default();
            format!(
                "no resource is fully used ({}: disks {:.0} %, network {:.0} %, CPUs {:.0} %): copies wait \
                 for something that is not measured",
                figures(last).unwrap_or_default(),
                shares.disk * 100.0,
                shares.network * 100.0,
                shares.cpu * 100.0
            )
        }
    }
}

/// Returns a phrase that names `resource` as the bottleneck, such as `the disks are the
/// bottleneck`.
fn bind(resource: Resource) -> &'static str {
    match resource {
        Resource::Disk => "the disks are the bottleneck",
        Resource::Network => "the network is the bottleneck",
        Resource::Cpu => "the CPUs are the bottleneck",
    }
}

/// Returns the forecasts for disks and for wires twice as fast, in words.
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
        None => format!("{what} twice as fast would gain nothing"),
    };
    let disks = gains(|point| point.disk_twice);
    let wires = gains(|point| point.network_twice);
    vec![line("disks", disks), line("wires", wires)]
}

#[cfg(test)]
mod tests {
    use garland_analysis::balance::{Binding, Shares};

    use super::*;

    const D: Option<Resource> = Some(Resource::Disk);
    const N: Option<Resource> = Some(Resource::Network);

    fn said(points: &[(f64, Option<Resource>)]) -> (Option<usize>, String, String) {
        let point = |(remote, &(rate, resource)): (usize, &(f64, Option<Resource>))| PointResult {
            text: "2MB".to_owned(),
            size: 2_000_000,
            remote,
            rate: rate * 1e6,
            binding: Binding {
                resource,
                rival: None,
                shares: Shares { disk: 0.5, network: 0.25, cpu: 0.125 },
            },
            disk_twice: if resource == D { 2e6 * rate } else { 1e6 * rate },
            network_twice: if resource == N { 2e6 * rate } else { 1e6 * rate },
            rounds: Vec::new(),
        };
        let points: Vec<PointResult> = points.iter().enumerate().map(point).collect();
        let verdict = verdicts(&points, points.len() - 1).remove(0);
        (verdict.balance, verdict.text, verdict.upgrades.join("; "))
    }

    #[test]
    fn each_verdict_has_its_figures() {
        let (at, text, upgrades) = said(&[(7.0, D), (7.1, D), (5.0, N)]);
        assert_eq!(at, Some(1));
        insta::assert_snapshot!(text, @"with up to 1 of 2 copies remote the disks are the bottleneck (7.10 MB/s at 1), beyond that the network (5.00 MB/s at 2): the balance is at 1");
        insta::assert_snapshot!(upgrades, @"disks twice as fast would give 14.00 MB/s at 0, 5.00 MB/s at 2; wires twice as fast would give 7.00 MB/s at 0, 10.00 MB/s at 2");
        let (at, text, _) = said(&[(7.0, D), (2.0, N)]);
        assert_eq!(at, Some(0));
        insta::assert_snapshot!(text, @"the network is the bottleneck as soon as one copy is remote (7.00 MB/s at 0, 2.00 MB/s at 1)");
        let (at, text, upgrades) = said(&[(7.0, D), (9.0, D)]);
        assert_eq!(at, None);
        insta::assert_snapshot!(text, @"the disks are the bottleneck with every number of remote copies (9.00 MB/s at 1); the network is in use for at most 25 % of the time");
        assert!(upgrades.ends_with("wires twice as fast would gain nothing"), "{upgrades}");
        let (_, text, upgrades) = said(&[(7.0, None), (9.0, None)]);
        insta::assert_snapshot!(text, @"no resource is fully used (9.00 MB/s at 1: disks 50 %, network 25 %, CPUs 12 %): copies wait for something that is not measured");
        assert_eq!(upgrades, "");
    }
}
