//! The documents are one book: every page is in its contents, and links between pages lead somewhere.

use super::finding::Finding;
use super::tree::{SourceFile, Tree};

/// The book's contents.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Looks for pages that nobody finds, and for links to pages that aren't there.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let pages = || tree.files.iter().filter(|file| file.path.ends_with(".md"));
    let mut findings: Vec<_> = pages().flat_map(|page| broken(tree, page)).collect();
    let listed: Vec<String> = tree.get(CONTENTS).map_or_else(Vec::new, |contents| {
        links(&contents.text).filter_map(|(_, target)| resolved(&contents.path, target)).collect()
    });
    let docs = pages().filter(|page| page.path.starts_with("docs/") && page.path != CONTENTS);
    let lost = docs.filter(|page| !listed.contains(&page.path));
    findings.extend(lost.map(|page| {
        Finding::new(&page.path, 1, format!("no line of {CONTENTS} leads to this page"))
    }));
    findings
}

fn broken(tree: &Tree, page: &SourceFile) -> Vec<Finding> {
    let gone = |(line, target): (usize, &str)| {
        let path = resolved(&page.path, target)?;
        let why = format!("`{target}` leads to no page: there is no {path}");
        tree.get(&path).is_none().then(|| Finding::new(&page.path, line, why))
    };
    links(&page.text).filter_map(gone).collect()
}

/// What is linked to, with the number of its line.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(number, line)| {
        let behind = line.split("](").skip(1);
        behind.filter_map(move |rest| Some((number + 1, rest.split_once(')')?.0)))
    })
}

/// The path in the repository of a link to a page of ours; none of one that leads elsewhere.
fn resolved(from: &str, target: &str) -> Option<String> {
    let path = target.split('#').next().filter(|path| path.ends_with(".md"))?;
    if path.contains("://") || path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        check(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_page_must_be_in_the_contents_and_links_must_lead_to_pages() {
        let contents = ("docs/SUMMARY.md", "- [A](a.md)\n- [Start](../README.md)\n");
        let start = ("README.md", "see [a](docs/a.md#part), [it](https://example.org/x.md)\n");
        assert_eq!(found(&[contents, start, ("docs/a.md", "[up](../README.md)\n")]), [""; 0]);
        let lost = found(&[contents, start, ("docs/a.md", ""), ("docs/b.md", "\n[c](c.md)")]);
        assert_eq!(lost.len(), 2, "{lost:?}");
        assert!(lost[0].contains("docs/b.md:2") && lost[0].contains("there is no docs/c.md"));
        assert!(lost[1].contains("docs/b.md:1") && lost[1].contains("docs/SUMMARY.md"));
    }
}
