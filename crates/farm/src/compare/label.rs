//! Short labels that distinguish runs.

use std::collections::BTreeSet;

use crate::result::{FarmResult, Summary};

/// Returns a label for each of `runs`: the properties in which the runs differ, or the runs' names
/// if a label would be empty or two would be equal.
pub fn labels(runs: &[FarmResult]) -> Vec<String> {
    let kinds: [fn(&Summary) -> String; 5] = [
        |one| one.network.clone().unwrap_or_else(|| "-".to_owned()),
        |one| one.engine.to_string(),
        |one| one.placement.clone().unwrap_or_else(|| "-".to_owned()),
        |one| one.data.clone(),
        |one| if one.all_at_once { "at once" } else { "as nodes free up" }.to_owned(),
    ];
    let nodes = |run: &FarmResult| match run.nodes.len() {
        1 => "one PC".to_owned(),
        many => format!("{many} nodes"),
    };
    let mut parts: Vec<Vec<String>> = vec![Vec::new(); runs.len()];
    let mut add = |words: Vec<String>| {
        if words.iter().collect::<BTreeSet<_>>().len() > 1 {
            parts.iter_mut().zip(words).for_each(|(part, word)| part.push(word));
        }
    };
    for kind in kinds {
        add(runs.iter().map(|run| kind(&run.summary)).collect());
    }
    add(runs.iter().map(nodes).collect());
    let labels: Vec<String> = parts.iter().map(|parts| parts.join(", ")).collect();
    let all_differ = labels.iter().collect::<BTreeSet<_>>().len() == labels.len();
    match all_differ && labels.iter().all(|label| !label.is_empty()) {
        true => labels,
        false => runs.iter().map(|run| run.run().to_owned()).collect(),
    }
}
