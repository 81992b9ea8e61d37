//! The data of a result for the page. A result of a thousand nodes has a million pairs, which no screen can
//! show.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// Maximum number of rows of a heat map; with more nodes, a row shows a group of neighbours.
const CELLS: usize = 128;

/// Returns the result with a heat map in place of the list of pairs.
pub(super) fn of(result: &Value) -> Value {
    let Value::Object(whole) = result else { return result.clone() };
    let mut kept: Map<String, Value> = whole.clone();
    if let Some(Value::Array(pairs)) = kept.remove("directions") {
        kept.insert("heat".to_owned(), heat(&pairs));
    }
    Value::Object(kept)
}

/// Returns the rates of all pairs as a matrix, sender by receiver, with the median of each group of nodes.
fn heat(pairs: &[Value]) -> Value {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut names: Vec<&str> = Vec::new();
    let ends =
        |way: &'_ Value| Some((way["from"].as_str()?.to_owned(), way["to"].as_str()?.to_owned()));
    for way in pairs {
        for end in ["from", "to"] {
            if let Some(name) = way[end].as_str() {
                places.entry(name).or_insert_with(|| {
                    names.push(name);
                    names.len() - 1
                });
            }
        }
    }
    let group = names.len().div_ceil(CELLS).max(1);
    let count = names.len().div_ceil(group);
    let mut cells: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); count]; count];
    for way in pairs {
        let Some((from, to)) = ends(way) else { continue };
        if let Some(rate) = way["rate"].as_f64() {
            let (from, to) = (places[from.as_str()], places[to.as_str()]);
            cells[from / group][to / group].push(rate);
        }
    }
    let median = |mut rates: Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).map(|rate| rate.round())
    };
    let rows: Vec<Vec<Option<f64>>> =
        cells.into_iter().map(|row| row.into_iter().map(median).collect()).collect();
    let label = |group: &[&str]| match group {
        [one] => (*one).to_owned(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    };
    json!({ "names": names.chunks(group).map(label).collect::<Vec<_>>(), "rates": rows })
}
