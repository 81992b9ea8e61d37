//! UCX's `ucx_perftest`.

use anyhow::{Context, Result, bail};

use super::super::contest::{Figure, Gauge};
use super::super::field::Field;
use super::SIZE;
use super::duet::{Duet, Inside};
use xtask::packages::Need;

/// A test of `ucx_perftest` over one transport.
pub(crate) struct Ucx {
    tool: &'static str,
    about: &'static str,
    /// The arguments, without size, iterations and address.
    words: &'static [&'static str],
    /// The value of `UCX_TLS`.
    transports: &'static str,
    iterations: &'static str,
}

impl Ucx {
    /// Round trips of active messages over TCP.
    pub(crate) const AM_TCP: Self = Self {
        tool: "ucx am",
        about: "`ucx_perftest -x tcp -t am_lat`: active messages, busy polling",
        words: &["-d", "eth0", "-x", "tcp", "-t", "am_lat"],
        transports: "tcp",
        iterations: "50000",
    };

    /// Gets over TCP, with as many in flight as Garland has.
    pub(crate) const GET_TCP: Self = Self {
        tool: "ucx get",
        about: "`ucx_perftest -t ucp_get -O 32` over TCP, over which UCX emulates gets, as every tool must",
        words: &["-t", "ucp_get", "-O", "32"],
        transports: "tcp",
        iterations: "50000",
    };

    /// Round trips of puts into shared memory, over each transport of UCX.
    pub(crate) const PUT_LATENCY: [Self; 3] = [
        Self {
            tool: "ucx put_lat posix",
            about: "`ucx_perftest -d memory -x posix -t put_lat`: half the time of a put there and a put back",
            words: &["-d", "memory", "-x", "posix", "-t", "put_lat"],
            transports: "posix",
            iterations: "1000000",
        },
        Self {
            tool: "ucx put_lat sysv",
            about: "`ucx_perftest -d memory -x sysv -t put_lat`: as above, by System V shared memory",
            words: &["-d", "memory", "-x", "sysv", "-t", "put_lat"],
            transports: "sysv",
            iterations: "1000000",
        },
        Self {
            tool: "ucx put_lat cma",
            about: "`ucx_perftest -d memory -x cma -t put_lat -D zcopy`: as above, by process_vm_writev(2)",
            words: &["-d", "memory", "-x", "cma", "-t", "put_lat", "-D", "zcopy"],
            transports: "cma",
            iterations: "100000",
        },
    ];

    /// Puts into shared memory, one after the other, over each transport of UCX.
    pub(crate) const PUT_RATE: [Self; 2] = [
        Self {
            tool: "ucx put_bw posix",
            about: "`ucx_perftest -d memory -x posix -t put_bw`: puts one after the other",
            words: &["-d", "memory", "-x", "posix", "-t", "put_bw"],
            transports: "posix",
            iterations: "10000000",
        },
        Self {
            tool: "ucx put_bw sysv",
            about: "`ucx_perftest -d memory -x sysv -t put_bw`: as above, by System V shared memory",
            words: &["-d", "memory", "-x", "sysv", "-t", "put_bw"],
            transports: "sysv",
            iterations: "10000000",
        },
    ];
}

impl Gauge<Field> for Ucx {
    fn tool(&self) -> &'static str {
        self.tool
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn need(&self) -> Option<Need> {
        Some(("ucx-utils", "ucx_perftest"))
    }

    fn measure(&self, field: &Field) -> Result<Figure> {
        let (place, address) = match self.transports {
            "tcp" => (Inside::Lab, field.address(1)?),
            _ => (Inside::Machine, "127.0.0.1".to_owned()),
        };
        let transports = format!("UCX_TLS={}", self.transports);
        let server = ["env", &transports, "UCX_WARN_UNUSED_ENV_VARS=n", "ucx_perftest"];
        let test = ["-f", "-s", SIZE, "-n", self.iterations, "-w", "5000", &address];
        let client = [&server[..], self.words, &test].concat();
        let duet = Duet { server: &server, listens: ("tcp", 13_337), client: &client, place };
        figure(&duet.play(field)?)
    }
}

/// Parses the only line of numbers, in microseconds: iterations, median, average, overall, and four rates;
/// newer versions print `Final:` before them. Tests of rates have a median of 0, which means none.
fn figure(text: &str) -> Result<Figure> {
    let numbers = |line: &str| -> Option<Vec<f64>> {
        let line = line.trim();
        let line = line.strip_prefix("Final:").unwrap_or(line);
        line.split_whitespace().map(|word| word.parse().ok()).collect()
    };
    let line = text.lines().filter_map(numbers).find(|numbers| numbers.len() == 8);
    let line =
        line.with_context(|| format!("the output of ucx_perftest has no result: {}", text.trim()))?;
    let [_, median, _, overall, ..] = line[..] else {
        bail!("the output of ucx_perftest has no result: {}", text.trim())
    };
    let median = Some(median).filter(|&median| median > 0.0);
    Ok(Figure { mean: Some(overall), median, ..Figure::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_table_is_understood() {
        let said = "|     Test     | # iterations | 50.0%ile | average | overall | average |\n\
                    +--------------+--------------+----------+---------+---------+---------+\n\
                    \x20        50000      5.300     5.431     5.431    1.40   1.40   184113   184113\n";
        let found = figure(said).unwrap();
        assert_eq!((found.mean, found.median), (Some(5.431), Some(5.3)));
        let found = figure("Final: 50000 0.000 5.4 5.4 1 1 1 1\n").unwrap();
        assert_eq!(found.median, None);
        assert!(figure("Final: 50000").is_err());
        assert!(figure("[error] no such transport").is_err());
    }
}
