//! UCX's `ucx_perftest`.

use anyhow::{Context, Result, bail};

use super::super::contest::{Figure, Tool};
use super::SIZE;
use super::duet::{Duet, Inside, Pair};

const fn tool(
    name: &'static str,
    about: &'static str,
    measure: fn(&Pair) -> Result<Figure>,
) -> Tool<Pair> {
    Tool { name, about, need: Some(("ucx-utils", "ucx_perftest")), measure }
}

/// Round trips of active messages over TCP.
pub(crate) const AM_TCP: Tool<Pair> =
    tool("ucx am", "`ucx_perftest -x tcp -t am_lat`: active messages, busy polling", |pair| {
        over_tcp(pair, &["-d", "eth0", "-x", "tcp", "-t", "am_lat"])
    });

/// Gets over TCP, with as many in flight as Garland has.
pub(crate) const GET_TCP: Tool<Pair> = tool(
    "ucx get",
    "`ucx_perftest -t ucp_get -O 32` over TCP, over which UCX emulates gets, as every tool must",
    |pair| over_tcp(pair, &["-t", "ucp_get", "-O", "32"]),
);

/// Round trips of puts into POSIX shared memory.
pub(crate) const POSIX_LATENCY: Tool<Pair> = tool(
    "ucx put_lat posix",
    "`ucx_perftest -d memory -x posix -t put_lat`: half the time of a put there and a put back",
    |pair| in_memory(pair, "posix", "put_lat", "1000000", &[]),
);

/// Round trips of puts into System V shared memory.
pub(crate) const SYSV_LATENCY: Tool<Pair> = tool(
    "ucx put_lat sysv",
    "`ucx_perftest -d memory -x sysv -t put_lat`: as above, by System V shared memory",
    |pair| in_memory(pair, "sysv", "put_lat", "1000000", &[]),
);

/// Round trips of puts by `process_vm_writev(2)`.
pub(crate) const CMA_LATENCY: Tool<Pair> = tool(
    "ucx put_lat cma",
    "`ucx_perftest -d memory -x cma -t put_lat -D zcopy`: as above, by process_vm_writev(2)",
    |pair| in_memory(pair, "cma", "put_lat", "100000", &["-D", "zcopy"]),
);

/// Puts into POSIX shared memory, one after the other.
pub(crate) const POSIX_RATE: Tool<Pair> = tool(
    "ucx put_bw posix",
    "`ucx_perftest -d memory -x posix -t put_bw`: puts one after the other",
    |pair| in_memory(pair, "posix", "put_bw", "10000000", &[]),
);

/// Puts into System V shared memory, one after the other.
pub(crate) const SYSV_RATE: Tool<Pair> = tool(
    "ucx put_bw sysv",
    "`ucx_perftest -d memory -x sysv -t put_bw`: as above, by System V shared memory",
    |pair| in_memory(pair, "sysv", "put_bw", "10000000", &[]),
);

fn over_tcp(pair: &Pair, words: &[&str]) -> Result<Figure> {
    measure(pair, Inside::Lab, &pair.address(1)?, "tcp", &[words, &["-n", "50000"]].concat())
}

fn in_memory(
    pair: &Pair,
    transport: &str,
    test: &str,
    iterations: &str,
    more: &[&str],
) -> Result<Figure> {
    let words = ["-d", "memory", "-x", transport, "-t", test, "-n", iterations];
    measure(pair, Inside::Machine, "127.0.0.1", transport, &[&words, more].concat())
}

/// Runs a test with these arguments between both ends, one of which is at `address`.
fn measure(
    pair: &Pair,
    place: Inside,
    address: &str,
    transports: &str,
    words: &[&str],
) -> Result<Figure> {
    let transports = format!("UCX_TLS={transports}");
    let server = ["env", &transports, "UCX_WARN_UNUSED_ENV_VARS=n", "ucx_perftest"];
    let client = [&server[..], words, &["-f", "-s", SIZE, "-w", "5000", address]].concat();
    let duet = Duet { server: &server, listens: ("tcp", 13_337), client: &client, place };
    figure(&duet.play(pair)?)
}

/// Parses the only line of numbers, in microseconds: iterations, median, average, overall, and four
/// rates; newer versions print `Final:` before them. Tests of rates have a median of 0, which means
/// none.
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
