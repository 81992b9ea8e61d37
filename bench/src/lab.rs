//! `bench lab`: measures the time of building, checking and removing labs.

use std::time::Duration;

use anyhow::Result;

use super::cluster::Cluster;
use super::contest::{Benchmark, Contest, Figure, Goal, Heading, Place, Tool};

/// A lab, and the limits of its times.
struct Case {
    /// The arguments of `garland lab up`.
    words: &'static [&'static str],
    /// The titles of two contests: building (and checking) the lab, and removing it.
    titles: [&'static str; 2],
    /// Upper limits of both in seconds.
    goals: [f64; 2],
}

const CASES: [Case; 2] = [
    Case {
        words: &["--nodes", "63", "--rate", "100mbit"],
        titles: ["Building a switch of 64 nodes", "Removing a switch of 64 nodes"],
        goals: [3.0, 2.0],
    },
    // 16 nodes, and one more namespace for the media.
    Case {
        words: &["routed-mesh", "--check"],
        titles: [
            "Building a routed mesh, 17 namespaces, with its self-check",
            "Removing a routed mesh, 17 namespaces",
        ],
        goals: [15.0, 2.0],
    },
];

/// Number of attempts: a busy machine can make a self-check fail, but a faulty lab fails every
/// time.
const TRIES: usize = 5;

/// The benchmark.
pub(crate) const BENCHMARK: Benchmark<Cluster> = Benchmark {
    bench: Heading {
        schema: "garland.bench-lab/2",
        name: "lab",
        title: "Building and removing labs",
    },
    rounds: "5",
    options: &[],
    needs: &[("iproute2", "ip"), ("nftables", "nft")],
    sandboxed: false,
    time: Duration::from_secs(600),
    places: &[Place {
        make: |_| Cluster::in_folder(&std::env::temp_dir(), "bench-lab"),
        contests: &[contest::<0, 0>(), contest::<0, 1>(), contest::<1, 0>(), contest::<1, 1>()],
    }],
    notes: |_, _| {
        let line = |case: Case| format!("a lab: `garland lab up {}`", case.words.join(" "));
        Ok(CASES.map(line).into())
    },
};

/// Returns the contest about the building (`T` is 0) or the removal (1) of lab `C`.
const fn contest<const C: usize, const T: usize>() -> Contest<Cluster> {
    Contest {
        title: CASES[C].titles[T],
        unit: "s",
        goal: Goal::Below(CASES[C].goals[T]),
        tools: &[Tool {
            name: "garland",
            about: "the whole commands `garland lab up` and `garland lab down`",
            need: None,
            measure: |place| Ok(Figure::from_mean(times(place, CASES[C].words)?[T])),
        }],
    }
}

/// Builds and removes a lab. Returns the seconds of both.
fn times(place: &Cluster, words: &[&str]) -> Result<[f64; 2]> {
    let mut tries = 0..TRIES;
    loop {
        let up = place.garland(&[&["lab", "up"], words].concat());
        let down = place.garland(&["lab", "down"]);
        tries.next();
        match up {
            Ok((up, _)) => return Ok([up, down?.0]),
            Err(error) if tries.is_empty() => return Err(error),
            Err(error) => eprintln!("  once more: {error:#}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_contest_has_a_title_of_its_own_and_a_bound() {
        crate::contest::assert_sound(&super::BENCHMARK);
    }
}
