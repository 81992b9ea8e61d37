//! The data of a result for the page, with a heat map in place of the list of pairs: a thousand
//! nodes have a million pairs, which no screen can show.

use std::collections::HashMap;

use serde_json::{Value, json};

/// The maximum number of rows and columns of a heat map. With more nodes, a row stands for a group
/// of neighbours.
const CELLS: usize = 128;

/// Returns the result with a heat map in place of its list of pairs, if there is such a list.
pub(super) fn of(result: &Value) -> Value {
    let mut result = result.clone();
    let pairs = result.as_object_mut().and_then(|fields| fields.remove("directions"));
    if let Some(Value::Array(pairs)) = pairs {
        result["heat"] = heat(&pairs);
    }
    result
}

/// Returns a matrix of the rates between pairs, with senders as rows and receivers as columns, and
/// its labels. If a row stands for a group of nodes, elements are medians.
fn heat(pairs: &[Value]) -> Value {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut names: Vec<&str> = Vec::new();
    for name in pairs.iter().flat_map(|pair| [pair["from"].as_str(), pair["to"].as_str()]).flatten()
    {
        places.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        });
    }
    let group = names.len().div_ceil(CELLS).max(1);
    let count = names.len().div_ceil(group);
    let mut cells: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); count]; count];
    for pair in pairs {
        let [from, to] =
            ["from", "to"].map(|end| places.get(pair[end].as_str().unwrap_or_default()).copied());
        if let (Some(from), Some(to), Some(rate)) = (from, to, pair["rate"].as_f64()) {
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
