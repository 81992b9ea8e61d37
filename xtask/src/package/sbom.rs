//! The software bill of materials (SBOM) of the program, as CycloneDX 1.5 JSON: all crates that are
//! linked into it, from `cargo metadata`, with the checksums of `Cargo.lock`, and what comes from
//! outside of cargo, Rust's standard library and the C library. Equal sources and tools make equal
//! bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::staging::{date, said};
use crate::fabric;

/// The package that the bill is of.
const PROGRAM: &str = "garland";

/// Returns the bill of the program. `time` is the time of the sources in seconds since 1970.
///
/// # Errors
/// If cargo or another tool fails, or what it prints lacks a part.
pub(super) fn bill(root: &Path, time: &str) -> Result<String> {
    let made = date(time)?;
    let graph = Graph::read(root)?;
    let mut components = vec![standard_library()?, c_library()?];
    let mut dependencies = Vec::new();
    for id in &graph.linked {
        let package = graph.package(id)?;
        if graph.program != *id {
            components.push(graph.component(package, "library")?);
        }
        let needs = graph.needs.get(id).into_iter().flatten();
        let needs: Result<Vec<String>> = needs.map(|id| reference(graph.package(id)?)).collect();
        dependencies.push(json!({ "ref": reference(package)?, "dependsOn": needs? }));
    }
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": made,
            "component": graph.component(graph.package(&graph.program)?, "application")?,
        },
        "components": components,
        "dependencies": dependencies,
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// The crates that are linked into the program.
struct Graph {
    /// The id of the program's package.
    program: String,
    /// All packages that cargo knows, by id.
    packages: BTreeMap<String, Value>,
    /// The ids of the packages that the program needs, itself included.
    linked: BTreeSet<String>,
    /// The ids of the direct dependencies of each of these.
    needs: BTreeMap<String, BTreeSet<String>>,
    /// The SHA-256 digests of the packages from registries, by name and version.
    digests: BTreeMap<(String, String), String>,
}

impl Graph {
    fn read(root: &Path) -> Result<Self> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root).args(["metadata", "--format-version", "1", "--locked"]);
        cargo.args(["--filter-platform", &fabric::host_triple()?]);
        let metadata: Value = serde_json::from_slice(&said(&mut cargo)?)?;
        let mut packages = BTreeMap::new();
        for package in list(&metadata["packages"]) {
            packages.insert(text(&package["id"])?, package.clone());
        }
        let mut needs = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            // Without a kind, it is a normal dependency; others are for builds and tests only.
            let is_linked =
                |need: &&Value| list(&need["dep_kinds"]).any(|kind| kind["kind"].is_null());
            let of_node = list(&node["deps"]).filter(is_linked).map(|need| text(&need["pkg"]));
            needs.insert(text(&node["id"])?, of_node.collect::<Result<BTreeSet<_>>>()?);
        }
        let is_program = |(id, package): (&String, &Value)| {
            (package["name"] == PROGRAM && package["source"].is_null()).then(|| id.clone())
        };
        let program = packages.iter().find_map(is_program).context("cargo knows no garland")?;
        let mut linked = BTreeSet::new();
        let mut next = vec![program.clone()];
        while let Some(id) = next.pop() {
            next.extend(needs.get(&id).into_iter().flatten().cloned());
            if !linked.insert(id) {
                continue;
            }
        }
        Ok(Self { program, packages, linked, needs, digests: digests(root)? })
    }

    fn package(&self, id: &str) -> Result<&Value> {
        self.packages.get(id).with_context(|| format!("cargo does not describe {id}"))
    }

    fn component(&self, package: &Value, kind: &str) -> Result<Value> {
        let name = text(&package["name"])?;
        let version = text(&package["version"])?;
        let mut component = Map::new();
        component.insert("type".to_owned(), kind.into());
        component.insert("bom-ref".to_owned(), reference(package)?.into());
        component.insert("name".to_owned(), name.clone().into());
        component.insert("version".to_owned(), version.clone().into());
        if let Some(licence) = package["license"].as_str() {
            // Before SPDX, cargo's way to write "or" was a slash.
            let expression = licence.replace('/', " OR ");
            component.insert("licenses".to_owned(), json!([{ "expression": expression }]));
        }
        if let Some(digest) = self.digests.get(&(name, version)) {
            component.insert("hashes".to_owned(), json!([{ "alg": "SHA-256", "content": digest }]));
            component.insert("purl".to_owned(), reference(package)?.into());
        }
        Ok(Value::Object(component))
    }
}

/// Returns the identifier of a package in the bill: its package URL (purl).
fn reference(package: &Value) -> Result<String> {
    Ok(format!("pkg:cargo/{}@{}", text(&package["name"])?, text(&package["version"])?))
}

/// Reads the digests of packages from `Cargo.lock`.
fn digests(root: &Path) -> Result<BTreeMap<(String, String), String>> {
    let lock =
        std::fs::read_to_string(root.join("Cargo.lock")).context("failed to read Cargo.lock")?;
    let lock: toml::Table = lock.parse().context("failed to parse Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let field = |package: &toml::Value, name: &str| Some(package.get(name)?.as_str()?.to_owned());
    let digest = |package| {
        let own = (field(package, "name")?, field(package, "version")?);
        Some((own, field(package, "checksum")?))
    };
    Ok(packages.filter_map(digest).collect())
}

fn standard_library() -> Result<Value> {
    let version = said(Command::new("rustc").arg("-vV"))?;
    let version = String::from_utf8_lossy(&version).into_owned();
    let release = version.lines().find_map(|line| line.strip_prefix("release: "));
    Ok(json!({
        "type": "library",
        "bom-ref": "rust-std",
        "name": "rust-std",
        "version": release.context("the output of rustc has no line with its release")?,
        "licenses": [{ "expression": "MIT OR Apache-2.0" }],
    }))
}

fn c_library() -> Result<Value> {
    let version = said(Command::new("getconf").arg("GNU_LIBC_VERSION"))?;
    let version = String::from_utf8_lossy(&version).into_owned();
    Ok(json!({
        "type": "library",
        "bom-ref": "glibc",
        "name": "glibc",
        "version": version.trim().trim_start_matches("glibc "),
        "licenses": [{ "expression": "LGPL-2.1-or-later" }],
    }))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).context("the output of `cargo metadata` lacks a text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_names_what_is_linked_with_versions_and_licences() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let written = bill(root, "86400").unwrap();
        assert_eq!(written, bill(root, "86400").unwrap(), "equal sources, equal bills");
        let written: Value = serde_json::from_str(&written).unwrap();
        let program = &written["metadata"]["component"];
        assert_eq!(
            (&program["name"], &program["version"]),
            (&json!("garland"), &json!(env!("CARGO_PKG_VERSION")))
        );
        assert_eq!(written["metadata"]["timestamp"], "1970-01-02T00:00:00Z");
        let named = |name: &str| list(&written["components"]).find(|one| one["name"] == name);
        let snow = named("snow").expect("the program is linked with it");
        assert_eq!(snow["licenses"][0]["expression"], "Apache-2.0 OR MIT");
        assert_eq!(snow["purl"], format!("pkg:cargo/snow@{}", snow["version"].as_str().unwrap()));
        assert_eq!(snow["hashes"][0]["content"].as_str().map(str::len), Some(64));
        assert!(named("glibc").is_some() && named("rust-std").is_some());
        assert!(named("garland-agent").is_some(), "our own crates are parts, too");
        for absent in ["insta", "proptest", "garland-testkit", "xtask", "cc", "syn-test"] {
            assert!(named(absent).is_none(), "{absent} is for builds and tests only");
        }
        let mut all = list(&written["components"]);
        assert!(all.all(|one| one["licenses"][0]["expression"].is_string()), "each has a licence");
    }
}
