//! Which crate may depend on which. The picture in ARCHITECTURE.md shows the same.

use toml::Table;

use super::finding::Finding;
use super::tree::{SourceFile, Tree};

/// A crate's directory under `crates/` and what it may depend on. The crate `testkit` is for tests,
/// as `simulation`: anyone may have them under `[dev-dependencies]` and no one elsewhere.
const ALLOWED: [(&str, &[&str]); 26] = [
    (
        "cli",
        &[
            "commands",
            "measure",
            "experiments",
            "farm",
            "fleet",
            "agent",
            "control",
            "dataplane",
            "lab",
            "protocol",
            "terminal",
            "results",
            "core",
            "sys",
        ],
    ),
    (
        "experiments",
        &[
            "commands", "farm", "fleet", "lab", "predict", "protocol", "topology", "analysis",
            "terminal", "results", "core", "sys",
        ],
    ),
    (
        "farm",
        &[
            "fleet",
            "agent",
            "control",
            "dataplane",
            "transport",
            "protocol",
            "mount",
            "lab",
            "topology",
            "analysis",
            "terminal",
            "results",
            "core",
            "sys",
        ],
    ),
    (
        "commands",
        &[
            "fleet",
            "control",
            "dataplane",
            "protocol",
            "mount",
            "predict",
            "lab",
            "remote",
            "report",
            "topology",
            "analysis",
            "terminal",
            "results",
            "core",
            "sys",
        ],
    ),
    (
        "measure",
        &[
            "fleet", "control", "protocol", "lab", "topology", "analysis", "terminal", "results",
            "core", "sys",
        ],
    ),
    (
        "fleet",
        &[
            "control",
            "dataplane",
            "transport",
            "protocol",
            "lab",
            "terminal",
            "results",
            "core",
            "sys",
        ],
    ),
    ("results", &["control", "dataplane", "protocol", "analysis", "terminal", "core", "sys"]),
    ("terminal", &["analysis", "core", "sys"]),
    ("agent", &["dataplane", "transport", "protocol", "fabric", "analysis", "core", "sys"]),
    ("control", &["dataplane", "transport", "protocol", "fabric", "core", "sys"]),
    ("dataplane", &["transport", "protocol", "core", "sys"]),
    ("transport", &["protocol", "sys"]),
    ("protocol", &["core"]),
    ("topology", &["core"]),
    ("analysis", &["core"]),
    ("predict", &["topology", "core"]),
    ("mount", &["control", "transport", "protocol", "core", "sys"]),
    ("lab", &["topology", "core", "sys"]),
    ("report", &["analysis", "core"]),
    ("remote", &["sys"]),
    ("fabric", &["sys"]),
    ("sys", &[]),
    ("core", &[]),
    ("simulation", &["protocol", "core"]),
    ("testkit", &["sys"]),
    ("bench", &["lab", "testkit"]),
];

/// Checks every `crates/*/Cargo.toml`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let Some(name) = crate_of_manifest(&file.path) else {
            continue;
        };
        match file.text.parse::<Table>() {
            Ok(manifest) => check_one(file, name, &manifest, &mut findings),
            Err(error) => {
                findings.push(Finding::new(&file.path, 1, format!("not TOML: {}", error.message())))
            }
        }
    }
    findings
}

fn crate_of_manifest(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")
}

fn check_one(file: &SourceFile, name: &str, manifest: &Table, findings: &mut Vec<Finding>) {
    let Some((_, allowed)) = ALLOWED.iter().find(|(krate, _)| *krate == name) else {
        findings.push(Finding::new(
            &file.path,
            1,
            format!("crate `{name}` has no place in the direction of dependencies"),
        ));
        return;
    };
    for (dev, dependency) in dependencies(manifest) {
        let Some(ours) = ours(&dependency) else {
            continue;
        };
        // Tests may use what they like: nothing of it is built into the product.
        let fine = dev || allowed.contains(&ours);
        if !fine {
            let line =
                1 + file.text.lines().position(|line| line.starts_with(&dependency)).unwrap_or(0);
            findings.push(Finding::new(
                &file.path,
                line,
                format!("`{name}` may not depend on `{ours}`, only on: {}", or_nothing(allowed)),
            ));
        }
    }
}

fn or_nothing(allowed: &[&str]) -> String {
    if allowed.is_empty() { "nothing of ours".to_owned() } else { allowed.join(", ") }
}

/// Every dependency's name, and whether it is for tests only.
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

/// The directory of one of our own packages.
fn ours(package: &str) -> Option<&str> {
    match package {
        "garland" => Some("cli"),
        _ => package.strip_prefix("garland-"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    fn lines(path: &str, manifest: &str) -> Vec<usize> {
        let found = check(&one(path, manifest));
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn upward_and_sideways_dependencies_are_found() {
        let predict =
            "[dependencies]\ngarland-core.workspace = true\ngarland-agent.workspace = true\n";
        assert_eq!(lines("crates/predict/Cargo.toml", predict), [3]);
        let sys = "[target.'cfg(unix)'.dependencies]\ngarland-core = { path = \"../core\" }\n";
        assert_eq!(lines("crates/sys/Cargo.toml", sys), [2]);
        let renamed = "[dependencies]\nx = { package = \"garland-agent\", path = \"../lab\" }\n";
        assert_eq!(lines("crates/control/Cargo.toml", renamed).len(), 1);
    }

    #[test]
    fn testkit_is_for_tests_only() {
        let dev = "[dev-dependencies]\ngarland-testkit.workspace = true\n";
        assert_eq!(lines("crates/core/Cargo.toml", dev), [0_usize; 0]);
        let normal = "[dependencies]\ngarland-testkit.workspace = true\n";
        assert_eq!(lines("crates/cli/Cargo.toml", normal), [2]);
    }

    #[test]
    fn unknown_crates_and_broken_manifests_are_found() {
        assert_eq!(lines("crates/extra/Cargo.toml", "[package]\n"), [1]);
        assert_eq!(lines("crates/core/Cargo.toml", "[package\n"), [1]);
    }
}
