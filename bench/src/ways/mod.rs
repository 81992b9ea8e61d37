//! `bench ways`: measures special cases of copies: second runs, slow nodes, several NICs,
//! compression, sieges.

mod places;

use std::time::Duration;

use self::places::{Copies, again, rails, siege, slow, text};
use super::contest::{Benchmark, Contest, Goal, Heading, Place};

/// The benchmark.
pub(crate) const BENCHMARK: Benchmark<Copies> = Benchmark {
    bench: Heading {
        schema: "garland.bench-ways/1",
        name: "ways",
        title: "Second runs, slow nodes, rails, compression, sieges",
    },
    rounds: "3",
    options: &[],
    needs: &[("iproute2", "ip")],
    sandboxed: true,
    time: Duration::from_secs(90),
    places: &PLACES,
    notes: |_, _| {
        let notes = [
            "nodes: network namespaces on switches, all on these cores, agents up; the whole command, no \
             fsync",
            "the bytes that the switch carries include requests, replies, heartbeats and headers of all \
             twenty nodes",
            "one of twenty nodes is slow and is fed on the side; the figure is the rate of that one of the \
             other nodes that completes last",
            "1,000 slow peers at the port of one node's agent, from another namespace: each connection is \
             silent or sends a byte a second, and is replaced after 5 s, so 200 new ones come a second",
            "the text is that of this repository, repeated; each block of 1 MiB is compressed on its own",
        ];
        Ok(notes.map(str::to_owned).into())
    },
};

pub(crate) use self::places::siege::{SLOW_PEERS, slow_peers};

const PLACES: [Place<Copies>; 5] = [
    Place {
        make: rails::make,
        contests: &[Contest {
            title: "2 rails of 1 Gbit/s, and one",
            unit: "MB/s",
            goal: Goal::AtLeast(1.9),
            tools: &[rails::BOTH, rails::ONE],
        }],
    },
    Place {
        make: text::make,
        contests: &[Contest {
            title: "Text over 1 Gbit/s, in fewer bytes and as it is",
            unit: "MB/s",
            goal: Goal::AtLeast(1.05),
            tools: &[text::AUTO, text::PLAIN],
        }],
    },
    Place {
        make: siege::make,
        contests: &[
            Contest {
                title: "6 nodes at 1 Gbit/s besieged by 1,000 slow peers from one address, and alone",
                unit: "MB/s",
                goal: Goal::AtLeast(0.91),
                tools: &[siege::ONE_ADDRESS, siege::ALONE],
            },
            Contest {
                title: "6 nodes at 1 Gbit/s besieged by 1,000 slow peers from 1,000 addresses, and alone",
                unit: "MB/s",
                goal: Goal::AtLeast(0.91),
                tools: &[siege::ADDRESS_EACH, siege::ALONE],
            },
        ],
    },
    // These need most memory and disk space, so they come last: others would wait until that is
    // freed.
    Place {
        make: slow::make,
        contests: &[Contest {
            title: "20 nodes at 1 Gbit/s, and one of them at 100 Mbit/s: what the others get",
            unit: "MB/s",
            goal: Goal::AtLeast(0.95),
            tools: &[slow::WITH, slow::WITHOUT],
        }],
    },
    Place {
        make: again::make,
        contests: &[
            Contest {
                title: "1 GiB to 20 nodes, once more",
                unit: "s",
                goal: Goal::Below(1.0),
                tools: &[again::SECONDS],
            },
            Contest {
                title: "1 GiB to 20 nodes, once more: what the switch carries",
                unit: "MiB",
                goal: Goal::Below(1.0),
                tools: &[again::CARRIED],
            },
        ],
    },
];

#[cfg(test)]
mod tests {
    #[test]
    fn every_contest_has_a_title_of_its_own_and_a_peer_or_a_bound() {
        crate::contest::assert_sound(&super::BENCHMARK);
    }
}
