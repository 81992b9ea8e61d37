//! Rule: crates depend on each other exactly as the table under "Rooms" in ARCHITECTURE.md says,
//! and rooms of commands do not use each other. The tests of any crate may use the test fixtures
//! (`testkit`, `simulation`).

use toml::Table;

use super::finding::Finding;
use super::tree::{SourceFile, Tree};

/// The document with the table of crates and their dependencies.
const PICTURE: &str = "ARCHITECTURE.md";

/// The rooms of commands. What several of them need is in a room below them.
const COMMAND_ROOMS: [&str; 4] = ["commands", "farm", "measure", "names"];

/// A row of the table: a crate, and the crates of this workspace that it may use.
struct Room<'a> {
    name: &'a str,
    uses: Vec<&'a str>,
    line: usize,
}

/// Compares every `crates/*/Cargo.toml` with the table.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(picture) = tree.get(PICTURE) else {
        return vec![Finding::new(
            PICTURE,
            1,
            "the table under \"## Rooms\" is missing".to_owned(),
        )];
    };
    let drawn = rooms(&picture.text);
    let mut findings = Vec::new();
    for file in &tree.files {
        let Some(name) = crate_of_manifest(&file.path) else {
            continue;
        };
        match file.text.parse::<Table>() {
            Ok(manifest) => check_one(file, name, &manifest, &drawn, &mut findings),
            Err(error) => {
                findings.push(Finding::new(&file.path, 1, format!("not TOML: {}", error.message())))
            }
        }
    }
    findings
}

/// Parses the rows of the table under "## Rooms".
fn rooms(picture: &str) -> Vec<Room<'_>> {
    let lines = picture.lines().enumerate().skip_while(|(_, line)| *line != "## Rooms").skip(1);
    let rows = lines.take_while(|(_, line)| !line.starts_with("## "));
    rows.filter_map(|(at, line)| {
        let mut cells = line.strip_prefix("| `")?.split('|');
        let name = cells.next()?.trim().trim_end_matches('`');
        let uses = cells.nth(1)?.split_whitespace().collect();
        Some(Room { name, uses, line: at + 1 })
    })
    .collect()
}

fn crate_of_manifest(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")
}

fn check_one(
    file: &SourceFile,
    name: &str,
    manifest: &Table,
    rooms: &[Room<'_>],
    findings: &mut Vec<Finding>,
) {
    let Some(room) = rooms.iter().find(|room| room.name == name) else {
        let message =
            format!("crate `{name}` has no row in the table under \"## Rooms\" of {PICTURE}");
        return findings.push(Finding::new(&file.path, 1, message));
    };
    let listed = dependencies(manifest);
    // Tests may use any crate, since test dependencies are not built into the product.
    let built = listed.iter().filter(|(dev, _)| !dev);
    let built: Vec<(&str, &str)> =
        built.filter_map(|(_, package)| Some((ours(package)?, package.as_str()))).collect();
    let line_of = |package: &str| {
        file.text.lines().position(|line| line.starts_with(package)).unwrap_or(0) + 1
    };
    let has_commands = COMMAND_ROOMS.contains(&name);
    for (used, package) in &built {
        if has_commands && COMMAND_ROOMS.contains(used) {
            let message = format!(
                "crate `{name}` must not use `{used}`, since rooms of commands do not use each \
                 other; move what both need to a room below them"
            );
            findings.push(Finding::new(&file.path, line_of(package), message));
        }
        if room.uses.contains(used) {
            continue;
        }
        let message =
            format!("crate `{name}` must not use `{used}`; it may use: {}", or_nothing(&room.uses));
        findings.push(Finding::new(&file.path, line_of(package), message));
    }
    let used = |room: &&&str| built.iter().any(|(used, _)| *used == **room);
    findings.extend(room.uses.iter().filter(|room| !used(room)).map(|unused| {
        Finding::new(
            PICTURE,
            room.line,
            format!("crate `{name}` does not use `{unused}`; remove it from this row"),
        )
    }));
}

fn or_nothing(allowed: &[&str]) -> String {
    if allowed.is_empty() { "no crate of this workspace".to_owned() } else { allowed.join(", ") }
}

/// Returns each dependency: whether it is for tests only, and its name.
fn dependencies(manifest: &Table) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    let mut tables = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    for table in tables {
        for (kind, dev) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let names = table.get(kind).and_then(toml::Value::as_table);
            for (name, how) in names.into_iter().flatten() {
                let real = how.get("package").and_then(toml::Value::as_str);
                found.push((dev, real.unwrap_or(name).to_owned()));
            }
        }
    }
    found
}

/// Returns the name of a package's directory in `crates`; `None` if it is not a package of this
/// workspace.
fn ours(package: &str) -> Option<&str> {
    match package {
        "garland" => Some("cli"),
        _ => package.strip_prefix("garland-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOMS: &str = "## Rooms\n\n| room | what | uses |\n|---|---|---|\n| `cli` | x | core |\n\
         | `core` | x | |\n| `predict` | x | core |\n| `names` | x | commands |\n\n## Next\n\n\
         | `extra` | x | |\n";

    /// Returns the lines of findings in a tree that has this manifest.
    fn lines(path: &str, manifest: &str) -> Vec<usize> {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let tree = Tree::from_files([file(PICTURE, ROOMS), file(path, manifest)]);
        check(&tree).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn what_a_room_may_not_use_is_found() {
        let predict =
            "[dependencies]\ngarland-core.workspace = true\ngarland-agent.workspace = true\n";
        assert_eq!(lines("crates/predict/Cargo.toml", predict), [3]);
        let core = "[target.'cfg(unix)'.dependencies]\ngarland-sys = { path = \"../sys\" }\n";
        assert_eq!(lines("crates/core/Cargo.toml", core), [2]);
        let renamed = "[dependencies]\nx = { package = \"garland-agent\", path = \"../lab\" }\n";
        assert_eq!(lines("crates/core/Cargo.toml", renamed).len(), 1);
    }

    #[test]
    fn what_a_room_is_said_to_use_and_does_not_is_found() {
        assert_eq!(lines("crates/predict/Cargo.toml", "[dependencies]\n"), [7]);
    }

    #[test]
    fn rooms_of_commands_that_use_each_other_are_found_even_if_the_table_says_so() {
        let names = "[dependencies]\ngarland-commands.workspace = true\n";
        assert_eq!(lines("crates/names/Cargo.toml", names), [2]);
    }

    #[test]
    fn testkit_is_for_tests_only() {
        let dev = "[dev-dependencies]\ngarland-testkit.workspace = true\n";
        assert_eq!(lines("crates/core/Cargo.toml", dev), [0_usize; 0]);
        let normal =
            "[dependencies]\ngarland-core.workspace = true\ngarland-testkit.workspace = true\n";
        assert_eq!(lines("crates/cli/Cargo.toml", normal), [3]);
    }

    #[test]
    fn unknown_crates_and_broken_manifests_are_found() {
        assert_eq!(lines("crates/extra/Cargo.toml", "[package]\n"), [1]);
        assert_eq!(lines("crates/core/Cargo.toml", "[package\n"), [1]);
    }
}
