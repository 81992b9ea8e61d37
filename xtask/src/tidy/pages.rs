//! Rules for the book: its contents list every page; links to pages, chapters and files of the
//! repository have a target; and some page besides the reference mentions every command.

use super::finding::Finding;
use super::tree::{SourceFile, Tree};

/// The table of contents of the book.
const CONTENTS: &str = "docs/SUMMARY.md";

/// The page with the help of all commands, one chapter for each.
const COMMANDS: &str = "docs/reference.md";

/// Reports pages that the contents lack, links without a target, and commands that no page but the
/// reference mentions.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let pages = || tree.files.iter().filter(|file| file.path.ends_with(".md"));
    let mut findings: Vec<_> = pages().flat_map(|page| broken(tree, page)).collect();
    let listed: Vec<String> = tree.get(CONTENTS).map_or_else(Vec::new, |contents| {
        links(&contents.text).filter_map(|(_, target)| resolved(&contents.path, target)).collect()
    });
    let docs = pages().filter(|page| page.path.starts_with("docs/") && page.path != CONTENTS);
    let lost = docs.filter(|page| !listed.contains(&page.path));
    findings.extend(
        lost.map(|page| {
            Finding::new(&page.path, 1, format!("{CONTENTS} has no link to this page"))
        }),
    );
    let reference = tree.get(COMMANDS).map_or("", |page| page.text.as_str());
    let commands = reference.lines().filter_map(|line| line.strip_prefix("## "));
    let told =
        |command: &str| pages().any(|page| page.path != COMMANDS && page.text.contains(command));
    findings.extend(commands.filter(|command| !told(command)).map(|command| {
        Finding::new(COMMANDS, 1, format!("no other page mentions `{command}`; say what it is for"))
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
            // Whether a file of another kind exists is unknown, since it is not in `tree`.
            let is_read = path.ends_with(".md") || !has_ending(&path) && !target.ends_with('/');
            return if is_folder || !is_read { None } else { found(format!("there is no {path}")) };
        };
        let (_, chapter) = target.split_once('#')?;
        let has = !path.ends_with(".md") || chapters(&there.text).any(|it| it == chapter);
        if has { None } else { found(format!("{path} has no such chapter")) }
    };
    links(&page.text).filter_map(gone).collect()
}

/// Returns whether a path has an extension, as those of pictures, which are not in the tree of text
/// files.
fn has_ending(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.contains('.'))
}

/// Returns the anchors of a page's chapters, as GitHub and mdBook derive them from titles.
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

/// Returns the target of each link, with the number of its line.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(number, line)| {
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

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        check(&Tree::from_files(files)).iter().map(ToString::to_string).collect()
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
        let page = ("docs/a.md", text);
        let toml = ("scenarios/x.toml", "");
        assert_eq!(found(&[contents, page, toml]), [""; 0]);
        let page = ("docs/a.md", "[1](#no-title) [2](../scenario) [3](a.md#b)\n");
        let lost = found(&[contents, page, toml]);
        assert_eq!(lost.len(), 3, "{lost:?}");
        assert!(lost.iter().all(|it| it.contains("docs/a.md:1") && it.contains("leads nowhere")));
    }
}
