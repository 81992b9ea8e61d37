//! Rules for the book and all other documents: the book's contents list every page once; links to
//! pages, chapters, pictures and files of the repository have a target; and some page besides the
//! reference mentions every command.

use std::collections::HashMap;

use super::finding::Finding;
use super::tree::{SourceFile, Tree};

/// The table of contents of the book.
const CONTENTS: &str = "docs/SUMMARY.md";

/// The pages with the help of all commands, one chapter for each.
const COMMANDS: &str = "docs/reference/";

/// Reports pages that the contents lack or list twice, links without a target, and commands that
/// no page but the reference mentions.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<_> = pages(tree).flat_map(|page| broken(tree, page)).collect();
    findings.extend(unlisted(tree));
    findings.extend(unmentioned(tree));
    findings
}

fn pages(tree: &Tree) -> impl Iterator<Item = &SourceFile> {
    tree.files.iter().filter(|file| file.path.ends_with(".md"))
}

/// Reports pages of the book that the contents do not list, or list more than once.
fn unlisted(tree: &Tree) -> Vec<Finding> {
    let listed: Vec<String> = tree.get(CONTENTS).map_or_else(Vec::new, |contents| {
        links(&contents.text).filter_map(|(_, target)| resolved(&contents.path, target)).collect()
    });
    let docs = pages(tree).filter(|page| page.path.starts_with("docs/") && page.path != CONTENTS);
    let found = docs.filter_map(|page| {
        let why = match listed.iter().filter(|listed| **listed == page.path).count() {
            0 => format!("{CONTENTS} has no link to this page"),
            1 => return None,
            times => format!("{CONTENTS} has {times} links to this page; mdBook takes one"),
        };
        Some(Finding::new(&page.path, 1, why))
    });
    found.collect()
}

/// Reports commands that no page but the reference mentions.
fn unmentioned(tree: &Tree) -> Vec<Finding> {
    let is_reference = |page: &SourceFile| page.path.starts_with(COMMANDS);
    let told =
        |command: &str| pages(tree).any(|page| !is_reference(page) && page.text.contains(command));
    let found = pages(tree).filter(|page| is_reference(page)).flat_map(|page| {
        let titles = page.text.lines().map(|line| line.trim_start_matches('#').trim_start());
        let commands = titles.zip(page.text.lines()).filter(|(title, line)| {
            line.starts_with('#') && (*title == "garland" || title.starts_with("garland "))
        });
        commands.filter(|(command, _)| !told(command)).map(|(command, _)| {
            let text = format!("no other page mentions `{command}`; say what it is for");
            Finding::new(&page.path, 1, text)
        })
    });
    found.collect()
}

fn broken(tree: &Tree, page: &SourceFile) -> Vec<Finding> {
    let gone = |(line, target): (usize, &str)| {
        let path = resolved(&page.path, target)?;
        let found = |why: String| {
            Some(Finding::new(&page.path, line, format!("`{target}` leads nowhere: {why}")))
        };
        let Some(there) = tree.get(&path) else {
            let below = format!("{path}/");
            let read = tree.files.iter().map(|file| &file.path);
            let is_folder = read.chain(&tree.unread).any(|path| path.starts_with(&below));
            let is_there = is_folder || tree.unread.contains(&path);
            return if is_there { None } else { found(format!("there is no {path}")) };
        };
        let (_, chapter) = target.split_once('#')?;
        let has = !path.ends_with(".md") || chapters(&there.text).any(|it| it == chapter);
        if has { None } else { found(format!("{path} has no such chapter")) }
    };
    links(&page.text).filter_map(gone).collect()
}

/// Returns the anchors of a page's chapters, as GitHub and mdBook derive them from titles: the
/// second of the same title ends in `-1`.
fn chapters(text: &str) -> impl Iterator<Item = String> {
    let mut is_code = false;
    let titles = text.lines().filter_map(move |line| {
        is_code ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        (!is_code && title.len() < line.len()).then(|| title.trim().to_lowercase())
    });
    let mut earlier: HashMap<String, usize> = HashMap::new();
    titles.map(move |title| {
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let times = earlier.entry(anchor.clone()).or_default();
        *times += 1;
        if *times == 1 { anchor } else { format!("{anchor}-{}", *times - 1) }
    })
}

/// Returns the target of each link that is not in a block of code, with the number of its line.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    let lines = text.lines().enumerate().filter(move |(_, line)| {
        is_code ^= line.starts_with("```");
        !is_code
    });
    lines.flat_map(|(number, line)| {
        let behind = line.split("](").skip(1);
        behind.filter_map(move |rest| Some((number + 1, rest.split_once(')')?.0)))
    })
}

/// Returns the path in the repository that a link leads to; `None` if the link leads outside of it.
fn resolved(from: &str, target: &str) -> Option<String> {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() {
        return Some(from.to_owned());
    }
    if target.contains("://") || path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Tree::from_files(files)
    }

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&tree(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_page_must_be_in_the_contents_and_links_must_lead_to_pages() {
        let contents = ("docs/SUMMARY.md", "- [A](a.md)\n- [Start](../README.md)\n");
        let start = ("README.md", "see [a](docs/a.md#part), [it](https://example.org/x.md)\n");
        assert_eq!(
            found(&[contents, start, ("docs/a.md", "# Part\n[up](../README.md)\n")]),
            [""; 0]
        );
        let lost =
            found(&[contents, start, ("docs/a.md", "## Part"), ("docs/b.md", "\n[c](c.md)")]);
        assert_eq!(lost.len(), 2, "{lost:?}");
        assert!(lost[0].contains("docs/b.md:2") && lost[0].contains("there is no docs/c.md"));
        assert!(lost[1].contains("docs/b.md:1") && lost[1].contains("docs/SUMMARY.md"));
    }

    #[test]
    fn a_page_is_listed_once() {
        let page = ("docs/a.md", "# A\n");
        let contents = ("docs/SUMMARY.md", "- [A](a.md)\n- [A again](a.md)\n");
        let twice = found(&[contents, page]);
        assert_eq!(twice.len(), 1, "{twice:?}");
        assert!(twice[0].contains("docs/a.md:1") && twice[0].contains("2 links"), "{twice:?}");
    }

    #[test]
    fn commands_are_spoken_of_besides_their_help() {
        let contents = (
            "docs/SUMMARY.md",
            "- [A](a.md)\n- [R](reference/README.md)\n- [L](reference/lab.md)\n",
        );
        let index = ("docs/reference/README.md", "# Commands\n## garland\n");
        let help = ("docs/reference/lab.md", "# garland lab\n## garland lab up\n");
        let all = ("docs/a.md", "`garland lab up` builds a lab");
        assert_eq!(found(&[contents, index, help, all]), [""; 0]);
        let lost = found(&[contents, index, help, ("docs/a.md", "garland cp\n")]);
        assert_eq!(lost.len(), 2, "{lost:?}");
        assert!(lost[0].contains("`garland lab`") && lost[1].contains("`garland lab up`"));
    }

    #[test]
    fn links_lead_to_chapters_and_files_that_are_there() {
        let contents = ("docs/SUMMARY.md", "- [A](a.md)\n");
        let text = "# A\n```\n# no title\n[6](no.md)\n```\n## What a `b.c/1` is\n## A\n\
                    [1](#what-a-bc1-is) [2](../scenarios) [3](images/x.png) [4](a.md#a) [5](#a-1)\n\
                    [6](images/)\n";
        let page = ("docs/a.md", text);
        let toml = ("scenarios/x.toml", "");
        let mut whole = tree(&[contents, page, toml]);
        whole.unread.insert("docs/images/x.png".to_owned());
        assert_eq!(check(&whole).iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
        let text = "[1](#no-title) [2](../scenario) [3](a.md#b) [4](images/y.png) [5](../x.toml)\n";
        let lost = found(&[contents, ("docs/a.md", text), toml]);
        assert_eq!(lost.len(), 5, "{lost:?}");
        assert!(lost.iter().all(|it| it.contains("docs/a.md:1") && it.contains("leads nowhere")));
    }
}
