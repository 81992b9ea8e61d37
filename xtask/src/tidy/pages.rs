//! The documents are one book: every page is in its contents, links between pages, to their chapters and to
//! files of the repository lead somewhere, and every command is spoken of somewhere.

use super::finding::Finding;
use super::tree::{SourceFile, Tree};

/// The book's contents.
const CONTENTS: &str = "docs/SUMMARY.md";

/// The help of all commands, a chapter each.
const COMMANDS: &str = "docs/reference.md";

/// Looks for pages that nobody finds, for links to pages that aren't there, and for commands that only
/// their own help explains.
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
    let reference = tree.get(COMMANDS).map_or("", |page| page.text.as_str());
    let commands = reference.lines().filter_map(|line| line.strip_prefix("## "));
    let told =
        |command: &str| pages().any(|page| page.path != COMMANDS && page.text.contains(command));
    findings.extend(commands.filter(|command| !told(command)).map(|command| {
        Finding::new(COMMANDS, 1, format!("no other page says what `{command}` is for"))
    }));
    findings
}

fn broken(tree: &Tree, page: &SourceFile) -> Vec<Finding> {
    let gone = |(line, target): (usize, &str)| {
        let path = resolved(&page.path, target)?;
        let found = |why: String| {
            Some(Finding::new(&page.path, line, format!("`{target}` leads nowhere: {why}")))
        };
        let Some(there) = tree.get(&path) else {
            let below = format!("{path}/");
            let is_folder = tree.files.iter().any(|file| file.path.starts_with(&below));
            // Of what isn't read here nobody can say whether it is there.
            let is_read = path.ends_with(".md") || !has_ending(&path) && !target.ends_with('/');
            return if is_folder || !is_read { None } else { found(format!("there is no {path}")) };
        };
        let (_, chapter) = target.split_once('#')?;
        let has = !path.ends_with(".md") || chapters(&there.text).any(|it| it == chapter);
        if has { None } else { found(format!("{path} has no such chapter")) }
    };
    links(&page.text).filter_map(gone).collect()
}

/// Whether a path has an ending, as pictures have: such files aren't in the tree of texts.
fn has_ending(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains('.'))
}

/// What the chapters of a page are called in links, as GitHub and mdBook make it of their titles.
fn chapters(text: &str) -> impl Iterator<Item = String> {
    let mut in_code = false;
    let titles = text.lines().filter_map(move |line| {
        in_code ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        (!in_code && title.len() < line.len()).then(|| title.trim().to_lowercase())
    });
    titles.map(|title| {
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// What is linked to, with the number of its line.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(number, line)| {
        let behind = line.split("](").skip(1);
        behind.filter_map(move |rest| Some((number + 1, rest.split_once(')')?.0)))
    })
}

/// The path in the repository of a link to something of ours; none of one that leads elsewhere.
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

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        check(&Tree::of(files)).iter().map(ToString::to_string).collect()
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
    fn commands_are_spoken_of_besides_their_help() {
        let contents = ("docs/SUMMARY.md", "- [A](a.md)\n- [R](reference.md)\n");
        let help =
            ("docs/reference.md", "# Commands\n## garland\n## garland cp\n## garland lab up\n");
        let all = ("docs/a.md", "`garland cp` copies; garland lab up");
        assert_eq!(found(&[contents, help, all]), [""; 0]);
        let lost = found(&[contents, help, ("docs/a.md", "garland lab\n")]);
        assert_eq!(lost.len(), 2, "{lost:?}");
        assert!(lost[0].contains("`garland cp`") && lost[1].contains("`garland lab up`"));
    }

    #[test]
    fn links_lead_to_chapters_and_files_that_are_there() {
        let contents = ("docs/SUMMARY.md", "- [A](a.md)\n");
        let text = "# A\n```\n# no title\n```\n## What a `b.c/1` is\n\
                    [1](#what-a-bc1-is) [2](../scenarios) [3](images/x.png) [4](a.md#a)\n";
        let (page, toml) = (("docs/a.md", text), ("scenarios/x.toml", ""));
        assert_eq!(found(&[contents, page, toml]), [""; 0]);
        let page = ("docs/a.md", "[1](#no-title) [2](../scenario) [3](a.md#b)\n");
        let lost = found(&[contents, page, toml]);
        assert_eq!(lost.len(), 3, "{lost:?}");
        assert!(lost.iter().all(|it| it.contains("docs/a.md:1") && it.contains("leads nowhere")));
    }
}
