//! libfabric's `fi_pingpong` over its TCP provider.

use anyhow::{Context, Result};

use super::super::contest::{Figure, Tool};
use super::SIZE;
use super::duet::{Duet, Inside, Pair};

/// Half a round trip of a message over the `tcp` provider, which busy-polls for completions.
pub(crate) const PINGPONG: Tool<Pair> = Tool {
    name: "fi_pingpong",
    about: "`-p tcp -e msg -S 8 -I 50000`: libfabric's TCP provider, busy polling; the mean",
    need: Some(("libfabric-bin", "fi_pingpong")),
    measure,
};

fn measure(pair: &Pair) -> Result<Figure> {
    let address = pair.address(1)?;
    let server = ["fi_pingpong", "-p", "tcp", "-e", "msg", "-S", SIZE, "-I", "50000"];
    let client = [&server[..], &[&address]].concat();
    let duet =
        Duet { server: &server, listens: ("tcp", 47_592), client: &client, place: Inside::Lab };
    transfer(&duet.play(pair)?).map(Figure::from_mean)
}

/// Parses the microseconds in the column `usec/xfer`.
fn transfer(text: &str) -> Result<f64> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = text.lines().map(words).collect();
    let at = lines.iter().position(|line| line.iter().any(|word| word == "usec/xfer"));
    let at =
        at.with_context(|| format!("the output of fi_pingpong has no table: {}", text.trim()))?;
    let column = lines[at].iter().position(|word| word == "usec/xfer");
    let value = column.and_then(|column| lines.get(at + 1)?.get(column));
    let value =
        value.with_context(|| format!("the table of fi_pingpong is empty: {}", text.trim()))?;
    value.parse().with_context(|| format!("not a number in the table of fi_pingpong: {value}"))
}

#[cfg(test)]
mod tests {
    use super::transfer;

    #[test]
    fn its_table_is_understood() {
        let said = "\
            bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n\
            8       50k     =50k     781k        0.58s      1.38       5.80       0.17\n";
        assert_eq!(transfer(said).unwrap(), 5.8);
        assert!(transfer("bytes usec/xfer\n").is_err());
        assert!(transfer("").is_err());
    }
}
