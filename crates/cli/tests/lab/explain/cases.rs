//! The faults that `explain` must name, each as it is made on a lab's nodes.

use garland_testkit::Scratch;
use serde_json::Value;

use crate::explain::stage::Stage;

/// A fault, and the copy that suffers from it.
pub struct Case {
    pub name: &'static str,
    /// What is wrong with a node by the lab's topology.
    pub topology: &'static str,
    /// What is done to nodes of the lab once it is up.
    pub done: &'static [(&'static str, Doing)],
    pub to: &'static str,
    pub mebibytes: u64,
    pub options: &'static [&'static str],
    /// What is right: cause and place.
    pub wanted: &'static [&'static str],
}

/// What is done to a node.
#[derive(Clone, Copy)]
pub enum Doing {
    /// It sends no more than 100 Mbit/s.
    Throttle,
    /// It loses 4 % of the full packets that come in. (What is dropped on its way out was never
    /// sent, as far as TCP can tell.)
    Lose,
    /// Its connections have the smallest receive buffers that there are.
    SmallBuffers,
}

const PLAIN: Case = Case {
    name: "",
    topology: "",
    done: &[],
    to: "lab:n[1-3]:/x",
    mebibytes: 64,
    options: &[],
    wanted: &[],
};

pub const SLOW_SOURCE: Case = Case {
    name: "slow source disk",
    options: &["--inject", "source-disk:500ms/10MiB"],
    wanted: &["source disk head"],
    ..PLAIN
};

pub const SLOW_SINK: Case = Case {
    name: "slow sink disk",
    topology: "[[topology.node]]\nnames = \"n2\"\ndisk = \"5MB/s\"\n",
    to: "lab:n2:/x",
    mebibytes: 16,
    options: &["--no-fsync"],
    wanted: &["sink disk n2"],
    ..PLAIN
};

pub const SLOW_FSYNC: Case = Case {
    name: "slow fsync",
    options: &["--inject", "fsync:n2:1500ms"],
    wanted: &["fsync n2"],
    ..PLAIN
};

pub const THROTTLED: Case = Case {
    name: "throttled wire",
    done: &[("n2", Doing::Throttle)],
    mebibytes: 32,
    wanted: &["wire n2 to n3"],
    ..PLAIN
};

pub const LOSSY: Case = Case {
    name: "lossy wire",
    done: &[("n2", Doing::Lose)],
    mebibytes: 32,
    wanted: &["loss n1 to n2"],
    ..PLAIN
};

/// At this rate a relay needs 2 to 4 % of a processor, a head hardly more: with 4 % both keep up on
/// a quiet machine, and nothing is to be found.
pub const STARVED: Case = Case {
    name: "CPU-starved relay",
    topology: "[[topology.node]]\nnames = \"n2\"\ncpu = 0.01\n",
    mebibytes: 24,
    wanted: &["processor n2"],
    ..PLAIN
};

pub const SMALL_BUFFER: Case = Case {
    name: "small receive buffer",
    done: &[("n2", Doing::SmallBuffers)],
    mebibytes: 32,
    wanted: &["send blocked by peer n1 to n2"],
    ..PLAIN
};

pub const SLOW_HEAD: Case = Case {
    name: "slow head",
    topology: "[[topology.node]]\nnames = \"n0\"\ncpu = 0.02\n",
    mebibytes: 32,
    wanted: &["source CPU head", "source CPU n0"],
    ..PLAIN
};

/// All of the file fits into its buffers, so that nobody is held up by it.
pub const STRAGGLER: Case = Case {
    name: "straggler",
    topology: "[[topology.node]]\nnames = \"n3\"\ndisk = \"8MB/s\"\n",
    mebibytes: 16,
    wanted: &["sink disk n3"],
    ..PLAIN
};

pub const SKEWED: Case = Case {
    name: "skewed clock",
    options: &["--inject", "clock:n2:49s,400ppm"],
    wanted: &["clock n2"],
    ..PLAIN
};

/// The faults of the issue.
pub const TEN: [Case; 10] = [
    SLOW_SOURCE,
    SLOW_SINK,
    SLOW_FSYNC,
    THROTTLED,
    LOSSY,
    STARVED,
    SMALL_BUFFER,
    SLOW_HEAD,
    STRAGGLER,
    SKEWED,
];

/// Two faults at a time, neither of which hides the other. No threshold may be chosen by them.
pub const COMBINED: [Case; 2] = [
    Case {
        name: "slow source and slow fsync",
        options: &["--inject", "source-disk:400ms/10MiB", "--inject", "fsync:n1:1300ms"],
        wanted: &["source disk head", "fsync n1"],
        ..PLAIN
    },
    Case {
        name: "throttled wire and skewed clock",
        done: &[("n2", Doing::Throttle)],
        mebibytes: 32,
        options: &["--inject", "clock:n3:-31s,-300ppm"],
        wanted: &["wire n2 to n3", "clock n3"],
        ..PLAIN
    },
];

impl Case {
    /// Builds its lab.
    #[track_caller]
    pub fn stage<'a>(&self, scratch: &'a Scratch) -> Stage<'a> {
        let stage = Stage::new(scratch, self.topology);
        for (node, doing) in self.done {
            match doing {
                Doing::Throttle => {
                    let shape = ["tbf", "rate", "100mbit", "burst", "12500", "limit", "262144"];
                    let device = ["tc", "qdisc", "replace", "dev", "eth0", "root"];
                    stage.on(node, &[&device[..], &shape].concat());
                }
                Doing::Lose => {
                    let rule = "table netdev lossy { chain in { type filter hook ingress device \
                                \"eth0\" priority 0; policy accept; meta length > 1000 numgen \
                                random mod 100 < 4 drop; }; }";
                    let file = scratch.folder().join("lossy.nft");
                    let rule = rule.replace("; ", ";\n").replace("{ ", "{\n");
                    std::fs::write(&file, rule).unwrap();
                    stage.on(node, &["nft", "-f", &file.display().to_string()]);
                }
                Doing::SmallBuffers => {
                    let set = "echo 4096 4096 4096 > /proc/sys/net/ipv4/tcp_rmem";
                    stage.on(node, &["sh", "-c", set]);
                }
            }
        }
        stage
    }

    /// Makes the copy.
    #[track_caller]
    pub fn explained(&self, stage: &Stage<'_>) -> Value {
        stage.explained_of(self.to, self.mebibytes, self.options)
    }
}
