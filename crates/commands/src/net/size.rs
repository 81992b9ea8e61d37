//! `garland net size`: computes how many nodes point-to-point stars allow.

use std::fmt::Write;

use garland_fleet::context::Context;
use garland_results::head::{Head, Phases, print_json};
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;
use garland_topology::Price;
use garland_topology::sizing::{Join, Prices, Server, Size, SizeError};
use serde::Serialize;

use crate::args::NetSize;

/// The result object `garland.net-size/2`.
#[derive(Serialize)]
struct SizeResult {
    #[serde(flatten)]
    head: Head,
    server: Server,
    ports: u64,
    prices: Prices,
    clusters: Vec<Row>,
}

/// A row of the table: how stars are joined, and the parts that are needed.
#[derive(Serialize)]
struct Row {
    cluster: String,
    #[serde(flatten)]
    size: Size,
}

/// Prints the sizes of one star and of two stars joined in the usual ways.
pub fn run(context: &Context, size: &NetSize) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let server = Server { slots: size.card_slots, ports: size.ports, onboard: size.onboard };
    let prices = Prices {
        card: price("--card-price", size.card_price)?,
        nic: price("--nic-price", size.nic_price)?,
        cable: price("--cable-price", size.cable_price)?,
        faster: price("--faster-price", size.faster_price)?,
    };
    let ports = server.all_ports();
    if ports == 0 {
        return Err(Failure::usage("a server without ports cannot be the centre of a star")
            .hint("add ports, for instance by --onboard 1"));
    }
    let clusters = rows(&server, &prices, size.nodes)?;
    phases.end("compute");
    if context.json {
        let head = Head::new("garland.net-size/2", None, phases);
        print_json(&SizeResult { head, server, ports, prices, clusters })?;
    } else {
        output::print(table(&server, &clusters))?;
    }
    Ok(Exit::Done)
}

fn rows(server: &Server, prices: &Prices, nodes: Option<u64>) -> Result<Vec<Row>, SizeError> {
    let row = |cluster: String, size| Row { cluster, size };
    let mut rows = vec![row("one star".to_owned(), server.star(nodes, prices)?)];
    if nodes.is_some() {
        return Ok(rows);
    }
    let joins = [1, 2, 4].map(Join::Ports).into_iter().chain([Join::Faster]);
    for join in joins {
        let name = match join {
            Join::Ports(1) => "two, joined by a wire".to_owned(),
            Join::Ports(by) => format!("two, joined by {by} bonded wires"),
            Join::Faster => "two, joined by a faster card".to_owned(),
        };
        // Joins for which the server is too small are left out.
        rows.extend(server.joined(join, prices).ok().map(|size| row(name, size)));
    }
    Ok(rows)
}

fn table(server: &Server, rows: &[Row]) -> String {
    let Server { slots, ports, onboard } = server;
    let mut text = format!(
        "a server with {slots} slots, {ports} ports per card and {onboard} on board has {} ports\n\n",
        server.all_ports()
    );
    let priced = rows.iter().any(|row| row.size.price != Price::default());
    let price = if priced { "price" } else { "" };
    // Writing to a string cannot fail.
    let mut line = |line: String| writeln!(text, "{}", line.trim_end());
    let _ = line(format!(
        "{:<30}{:>6}{:>7}{:>6}{:>8}{:>16}{price:>11}",
        "", "nodes", "cards", "NICs", "cables", "nodes a trunk"
    ));
    for Row { cluster, size } in rows {
        let Size { nodes, cards, nics, cables, nodes_per_join: per, .. } = size;
        let per = if *per > 0.0 { per.to_string() } else { "-".to_owned() };
        let price = if priced { size.price.to_string() } else { String::new() };
        let _ = line(format!(
            "{cluster:<30}{nodes:>6}{cards:>7}{nics:>6}{cables:>8}{per:>16}{price:>11}"
        ));
    }
    text
}

/// Checks the price `amount` of `option`, and rounds it to hundredths.
fn price(option: &str, amount: f64) -> Result<Price, Failure> {
    if !(0.0..=1e9).contains(&amount) {
        return Err(Failure::usage(format!("{option} must be 0 to 1000000000, not {amount}")));
    }
    Ok(Price((amount * 100.0).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown() {
        let of_2004 = Server { slots: 7, ports: 2, onboard: 1 };
        let rows_of = |prices: &Prices, nodes| rows(&of_2004, prices, nodes).unwrap();
        insta::assert_snapshot!("sizes", table(&of_2004, &rows_of(&Prices::default(), None)));
        let prices = Prices { card: Price(4000), cable: Price(300), ..Prices::default() };
        insta::assert_snapshot!("size-of-4", table(&of_2004, &rows_of(&prices, Some(4))));
        assert!(rows(&of_2004, &prices, Some(17)).is_err());
        let small = Server { slots: 0, ports: 1, onboard: 1 };
        assert_eq!(rows(&small, &prices, None).unwrap().len(), 1);
        assert!(price("--nic-price", f64::NAN).is_err());
        assert_eq!(price("--nic-price", 12.345).unwrap(), Price(1235));
    }
}
