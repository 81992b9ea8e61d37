//! NetPIPE's `NPtcp`.

use anyhow::{Context, Result};

use super::super::contest::{Figure, Tool};
use super::SIZE;
use super::duet::{Duet, Inside, Pair};

/// NetPIPE with blocking reads and writes.
pub(crate) const NETPIPE: Tool<Pair> = Tool {
    name: "NetPIPE",
    about: "`NPtcp -l 8 -u 8 -p 0 -n 10000`: blocking reads and writes; the best of three means",
    need: Some(("netpipe-tcp", "NPtcp")),
    measure,
};

fn measure(pair: &Pair) -> Result<Figure> {
    let address = pair.address(1)?;
    // NetPIPE prints its results to standard error.
    let told = ["sh", "-c", "exec \"$@\" 2>&1", "sh"];
    let points = ["-l", SIZE, "-u", SIZE, "-p", "0", "-n", "10000", "-o", "/dev/null"];
    let server = [&["NPtcp"][..], &points].concat();
    let client = [&told[..], &["NPtcp", "-h", &address], &points].concat();
    let duet =
        Duet { server: &server, listens: ("tcp", 5002), client: &client, place: Inside::Lab };
    Ok(Figure { best: Some(best(&duet.play(pair)?)?), ..Figure::default() })
}

/// Parses the microseconds at the end of `0: 8 bytes 10000 times --> 2.36 Mbps in 25.9 usec`.
fn best(text: &str) -> Result<f64> {
    let line = text.lines().find(|line| line.contains("-->") && line.trim().ends_with("usec"));
    let line =
        line.with_context(|| format!("the output of NPtcp has no result: {}", text.trim()))?;
    let word = line.split_whitespace().rev().nth(1).unwrap_or_default();
    word.parse().with_context(|| format!("not a number at the end of the line of NPtcp: {line}"))
}

#[cfg(test)]
mod tests {
    use super::best;

    #[test]
    fn its_words_are_understood() {
        let said = "Send and receive buffers are 16384 and 131072 bytes\n\
                    Now starting the main loop\n\
                    \x20 0:       8 bytes  10000 times -->      2.36 Mbps in      25.90 usec\n";
        assert_eq!(best(said).unwrap(), 25.9);
        assert!(best("connection refused").is_err());
    }
}
