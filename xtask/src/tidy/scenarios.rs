//! Rule: scenario files are valid TOML. Tests check their contents.

use toml::Table;

use super::finding::Finding;
use super::scan::line_of;
use super::tree::Tree;

/// Checks every `scenarios/*.toml`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let scenarios = tree
        .files
        .iter()
        .filter(|file| file.path.starts_with("scenarios/") && file.name().ends_with(".toml"));
    scenarios
        .filter_map(|file| {
            let error = file.text.parse::<Table>().err()?;
            let line =
                error.span().map_or(1, |span| line_of(&file.text, span.start.min(file.text.len())));
            let why = format!("not TOML: {}", error.message());
            Some(Finding::new(&file.path, line, why))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    #[test]
    fn broken_files_are_found() {
        let found = check(&one("scenarios/a.toml", "[topology]\nnodes = = 3\n"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert!(check(&one("scenarios/a.toml", "[topology]\nnodes = 3\n")).is_empty());
    }
}
