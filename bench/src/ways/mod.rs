//! `bench ways`: measures special cases of copies: second runs, slow nodes, several NICs, compression.

mod places;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use self::places::{Place, again, rails, slow, text};
use super::contest::{Benchmark, Contest, Event, Findings, Goal, Heading, Words, hold};

/// The usage text.
pub(crate) const USAGE: &str = "\
cargo xtask bench ways [options]

  --rounds 3                  turns of each tool
  --only WORDS                only contests with these words in their title
  --no-write                  print only, leave benches/results/ alone";

/// No round begins after this time at each place.
const TIME: Duration = Duration::from_secs(90);

/// A function that builds a place, and the contests in that place.
struct Field {
    make: fn(&Path) -> Result<Place>,
    events: &'static [Event<Place>],
}

const FIELDS: [Field; 4] = [
    Field {
        make: rails::make,
        events: &[Event {
            title: "2 rails of 1 Gbit/s, and one",
            unit: "MB/s",
            goal: Goal::AtLeast(1.9),
            tools: &[rails::BOTH, rails::ONE],
        }],
    },
    Field {
        make: text::make,
        events: &[Event {
            title: "Text over 1 Gbit/s, in fewer bytes and as it is",
            unit: "MB/s",
            goal: Goal::AtLeast(1.05),
            tools: &[text::AUTO, text::PLAIN],
        }],
    },
    // These need most memory and disk space, so they come last: others would wait until that is freed.
    Field {
        make: slow::make,
        events: &[Event {
            title: "20 nodes at 1 Gbit/s, and one of them at 100 Mbit/s: what the others get",
            unit: "MB/s",
            goal: Goal::AtLeast(0.95),
            tools: &[slow::WITH, slow::WITHOUT],
        }],
    },
    Field {
        make: again::make,
        events: &[
            Event {
                title: "1 GiB to 20 nodes, once more",
                unit: "s",
                goal: Goal::Below(1.0),
                tools: &[again::SECONDS],
            },
            Event {
                title: "1 GiB to 20 nodes, once more: what the switch carries",
                unit: "MiB",
                goal: Goal::Below(1.0),
                tools: &[again::CARRIED],
            },
        ],
    },
];

/// The benchmark.
const BENCHMARK: Benchmark<Place> = Benchmark {
    bench: Heading {
        schema: "garland.bench-ways/1",
        name: "ways",
        title: "Second runs, slow nodes, rails, compression",
    },
    usage: USAGE,
    rounds: 3,
    options: &[],
    needs: &[("iproute2", "ip")],
    contests: all,
};

/// Runs the benchmark.
///
/// # Errors
/// If an argument is wrong, a lab cannot be made, a tool failed, or a goal is missed.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    BENCHMARK.run_in_sandbox(root, args, |_, words| contend(root, words))
}

/// Holds the chosen contests.
fn contend(root: &Path, words: &Words) -> Result<Findings> {
    let mut outcomes = Vec::new();
    for field in &FIELDS {
        let contests = words.choose(field.events.iter().map(Event::contest).collect());
        if !contests.is_empty() {
            let place = (field.make)(root)?;
            outcomes.extend(hold(&contests, words.rounds, TIME, &place));
        }
    }
    let notes = vec![
        "nodes: network namespaces on switches, all on these cores, agents up; the whole command, no \
         fsync"
            .to_owned(),
        "the bytes that the switch carries include requests, replies, heartbeats and headers of all \
         twenty nodes"
            .to_owned(),
        "one of twenty nodes is slow and is fed on the side; the figure is the rate of that one of the other \
         nodes that completes last"
            .to_owned(),
        "the text is that of this repository, repeated; each block of 1 MiB is compressed on its own"
            .to_owned(),
    ];
    Ok((outcomes, notes))
}

fn all() -> Vec<Contest<Place>> {
    FIELDS.iter().flat_map(|field| field.events).map(Event::contest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::assert_sound;

    #[test]
    fn every_contest_has_a_title_of_its_own_and_a_peer_or_a_bound() {
        assert_sound(&all());
    }
}
