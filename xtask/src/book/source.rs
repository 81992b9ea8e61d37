//! The pages as mdBook takes them. The site has nothing but docs/, so links to other files of the
//! repository become their names; and mdBook makes `index.html` of a `README.md`, but leaves links
//! to it as they are.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The table of contents, which mdBook reads by itself.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Copies `book.toml` and docs/ from `root` to the new directory `staged`.
pub(super) fn stage(root: &Path, staged: &Path) -> Result<()> {
    if staged.exists() {
        fs::remove_dir_all(staged)
            .with_context(|| format!("failed to remove {}", staged.display()))?;
    }
    copy(&root.join("docs"), &staged.join("docs"), 0)?;
    let settings = root.join("book.toml");
    fs::copy(&settings, staged.join("book.toml"))
        .with_context(|| format!("failed to copy {}", settings.display()))?;
    Ok(())
}

/// Copies a directory that is `depth` directories below docs/.
fn copy(from: &Path, to: &Path, depth: usize) -> Result<()> {
    let failed = || format!("failed to copy {} to {}", from.display(), to.display());
    fs::create_dir_all(to).with_context(failed)?;
    for entry in fs::read_dir(from).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target, depth + 1)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path).with_context(failed)?;
            let page = if path.ends_with(CONTENTS) { text } else { within(&text, depth) };
            fs::write(target, page).with_context(failed)?;
        } else {
            fs::copy(&path, target).with_context(failed)?;
        }
    }
    Ok(())
}

/// Returns the text of a page that is `depth` directories below docs/, with the name of the file
/// in place of each link that leaves docs/, and with links to `index.md` in place of those to
/// `README.md`.
fn within(text: &str, depth: usize) -> String {
    let outside = "../".repeat(depth + 1);
    let mut page = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&format!("]({outside}")) {
        let behind = &rest[at + 2 + outside.len()..];
        let begin = rest[..at].rfind('[');
        let (Some(begin), Some(end)) = (begin, behind.find(')')) else { break };
        let name = &rest[begin + 1..at];
        let file = behind[..end].split('#').next().unwrap_or_default();
        page.push_str(&rest[..begin]);
        if name.trim_matches(['`', '/']) == file.trim_matches('/') {
            page.push_str(&format!("`{file}`"));
        } else {
            page.push_str(&format!("{name} (`{file}` in the repository)"));
        }
        rest = &behind[end + 1..];
    }
    page.push_str(rest);
    let links = page.split("](").enumerate().map(|(number, part)| match part.find([')', '#']) {
        Some(end)
            if number > 0 && part[..end].ends_with("README.md") && !part[..end].contains(':') =>
        {
            let folder = &part[..end - "README.md".len()];
            format!("{folder}index.md{}", &part[end..])
        }
        _ => part.to_owned(),
    });
    links.collect::<Vec<_>>().join("](")
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn links_out_of_the_book_become_names_of_files() {
        let text = "[a](a.md), [the map](../ARCHITECTURE.md#rooms), [scenarios/](../scenarios)\n";
        assert_eq!(
            within(text, 0),
            "[a](a.md), the map (`ARCHITECTURE.md` in the repository), `scenarios`\n"
        );
        let index = "README.md: [the roots](roots/README.md#a), [b](https://a.b/README.md)";
        assert_eq!(
            within(index, 0),
            "README.md: [the roots](roots/index.md#a), [b](https://a.b/README.md)"
        );
        let below = "[up](../lab.md) and [out](../../bench/results/README.md)";
        assert_eq!(
            within(below, 1),
            "[up](../lab.md) and out (`bench/results/README.md` in the repository)"
        );
    }
}
