//! Dead links of a site in a directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

/// A page of the site.
#[derive(Default)]
struct Page {
    /// Targets of links, pictures, scripts and styles.
    targets: BTreeSet<String>,
    /// What links can name on it.
    anchors: BTreeSet<String>,
}

/// Returns a line `PAGE: TARGET` for each link of an HTML file below `site` that leads to no file
/// there, or to an anchor that its page lacks. Links to other sites are not followed.
///
/// # Errors
/// If the site cannot be read.
pub(super) fn find_dead(site: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read(site, &mut pages)?;
    let mut dead = Vec::new();
    for (path, page) in &pages {
        for target in &page.targets {
            if !is_alive(site, &pages, path, target) {
                let path = path.strip_prefix(site).unwrap_or(path);
                dead.push(format!("{}: {target}", path.display()));
            }
        }
    }
    Ok(dead)
}

fn read(directory: &Path, pages: &mut BTreeMap<PathBuf, Page>) -> Result<()> {
    let failed = || format!("failed to read {}", directory.display());
    for entry in fs::read_dir(directory).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path.is_dir() {
            read(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("failed to read {}", path.display()))?;
            let mut page = Page::default();
            page.targets.extend(values(&text, " href=\""));
            page.targets.extend(values(&text, " src=\""));
            page.anchors.extend(values(&text, " id=\""));
            pages.insert(path, page);
        }
    }
    Ok(())
}

/// Returns the values of an attribute, which is given with the characters around its name.
fn values<'t>(text: &'t str, attribute: &'t str) -> impl Iterator<Item = String> + 't {
    let behind = text.split(attribute).skip(1);
    behind.filter_map(|rest| Some(rest.split_once('"')?.0.replace("&amp;", "&")))
}

fn is_alive(site: &Path, pages: &BTreeMap<PathBuf, Page>, from: &Path, target: &str) -> bool {
    if target.contains(':') || target.starts_with("//") {
        return true;
    }
    let (file, anchor) = match target.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (target, None),
    };
    let path = match file {
        "" => from.to_owned(),
        file => joined(from.parent().unwrap_or(site), file),
    };
    let path = if path.is_dir() { path.join("index.html") } else { path };
    if !path.starts_with(site) || !path.is_file() {
        return false;
    }
    let page = pages.get(&path);
    anchor.is_none_or(|anchor| page.is_none_or(|page| page.anchors.contains(anchor)))
}

/// Returns the path of `file`, which is relative to `directory`, without `..` in it.
fn joined(directory: &Path, file: &str) -> PathBuf {
    let mut path = directory.to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_without_a_file_or_an_anchor_are_found() {
        let site = std::env::temp_dir().join(format!("garland-site-{}", std::process::id()));
        fs::create_dir_all(site.join("below")).unwrap();
        let page = "<a href=\"below/a.html#one\"> <a href=\"#top\"> <h1 id=\"top\">\
                    <img src=\"x.svg\"> <a href=\"https://example.org\">";
        fs::write(site.join("index.html"), page).unwrap();
        fs::write(site.join("x.svg"), "").unwrap();
        let below = "<h2 id=\"one\"> <a href=\"../index.html#top\"> <a href=\"..\">";
        fs::write(site.join("below/a.html"), below).unwrap();
        assert_eq!(find_dead(&site).unwrap(), [""; 0]);
        let below = "<a href=\"../index.html#end\"> <a href=\"b.html\"> <img src=\"../y.svg\">\
                     <a href=\"../../c\">";
        fs::write(site.join("below/a.html"), below).unwrap();
        let found = find_dead(&site).unwrap();
        fs::remove_dir_all(&site).unwrap();
        assert_eq!(
            found,
            [
                "below/a.html: ../../c",
                "below/a.html: ../index.html#end",
                "below/a.html: ../y.svg",
                "below/a.html: b.html",
                "index.html: below/a.html#one",
            ]
        );
    }
}
