//! Resolves a path in code to the file that defines the item.

use std::collections::BTreeSet;

use super::modules::{Meaning, ModuleId, Modules};

/// The target of a path.
enum Found {
    Module(ModuleId),
    /// An item, defined in this module.
    Item(ModuleId),
}

/// The names that are being looked up, so that a name that leads back to itself is unresolved.
type Open = BTreeSet<(ModuleId, String)>;

/// Returns the file that defines the item at `path`, seen from module `at`. `None` if the path
/// names a module or an item of another project, or cannot be resolved.
pub(super) fn defining_file<'a>(
    modules: &'a Modules<'_>,
    at: ModuleId,
    path: &[String],
) -> Option<&'a str> {
    match find(modules, at, path, &mut Open::new())? {
        Found::Item(module) => Some(modules.file(module)),
        Found::Module(_) => None,
    }
}

fn find(modules: &Modules<'_>, at: ModuleId, path: &[String], open: &mut Open) -> Option<Found> {
    let (first, rest) = path.split_first()?;
    let start = match first.as_str() {
        "crate" => Found::Module(modules.root(at)),
        "self" => Found::Module(at),
        "super" => Found::Module(modules.parent(at)?),
        name => look_up(modules, at, name, !rest.is_empty(), open)
            .or_else(|| modules.krate(name).map(Found::Module))?,
    };
    let mut found = start;
    let mut rest = rest;
    while let Found::Module(module) = found {
        let Some((name, after)) = rest.split_first() else {
            return Some(Found::Module(module));
        };
        found = match name.as_str() {
            "super" => Found::Module(modules.parent(module)?),
            "self" => Found::Module(module),
            name => look_up(modules, module, name, !after.is_empty(), open)?,
        };
        rest = after;
    }
    Some(found)
}

/// Resolves `name` in `at`. If both a module and an item have this name, the path means the module
/// if another name follows.
fn look_up(
    modules: &Modules<'_>,
    at: ModuleId,
    name: &str,
    followed: bool,
    open: &mut Open,
) -> Option<Found> {
    if !open.insert((at, name.to_owned())) {
        return None;
    }
    let mut found: Vec<Found> = modules
        .meanings(at, name)
        .iter()
        .filter_map(|meaning| match meaning {
            Meaning::Item => Some(Found::Item(at)),
            Meaning::Module(module) => Some(Found::Module(*module)),
            Meaning::Import(path) if path.len() == 1 && path[0] == name => {
                modules.krate(name).map(Found::Module)
            }
            Meaning::Import(path) => find(modules, at, path, open),
        })
        .collect();
    if found.is_empty() {
        return modules.globs(at).iter().find_map(|glob| match find(modules, at, glob, open)? {
            Found::Module(module) if module != at => look_up(modules, module, name, followed, open),
            _ => None,
        });
    }
    let wanted =
        found.iter().position(|one| matches!(one, Found::Module(_)) == followed).unwrap_or(0);
    Some(found.swap_remove(wanted))
}
