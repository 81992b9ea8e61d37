//! The manual page of the cluster file, cluster.toml(5): what the book says of its keys, and the
//! example that packages have.

use std::io::{Error, Write};

use clap_mangen::roff::{Roff, bold, roman};

/// The name of the page, in section 5.
pub const NAME: &str = "cluster.toml";

const BOOK: &str = include_str!("../../../../docs/formats.md");

const EXAMPLE: &str = include_str!("../../../../packaging/cluster.toml");

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut impl Write) -> Result<(), Error> {
    let mut roff = Roff::new();
    let source = concat!("Garland ", env!("CARGO_PKG_VERSION"));
    roff.control("TH", [NAME, "5", " ", source, "Garland"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman("cluster.toml - the nodes of a cluster, for garland(1)")]);
    let section = BOOK.split("\n## The cluster file\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    // Examples stand below, and errors speak for themselves.
    let prose: Vec<&str> = section.split("```").step_by(2).collect();
    let prose = prose.join("\n\n");
    roff.control("SH", ["DESCRIPTION"]);
    for paragraph in prose.split("\n\n").map(str::trim).filter(|text| !text.is_empty()) {
        if paragraph.starts_with('|') {
            paragraph.lines().skip(2).for_each(|row| put_key(&mut roff, row));
        } else {
            roff.control("PP", []).text([roman(plain(paragraph).trim_end_matches(':'))]);
        }
    }
    roff.control("SH", ["EXAMPLE"]);
    super::put_lines(&mut roff, EXAMPLE.lines());
    roff.control("SH", ["FILES"]);
    super::put_lines(&mut roff, ["./cluster.toml", "~/.config/garland/cluster.toml"]);
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman("garland(1), garland-doctor(1), garland-up(1), ssh_config(5)")]);
    out.write_all(roff.render().as_bytes())
}

/// Appends a row of the table of keys: the key, what it is, and its default.
fn put_key(roff: &mut Roff, row: &str) {
    let mut cells = row.trim_matches(['|', ' ']).split(" | ").map(plain);
    let key = cells.next().unwrap_or_default();
    let about = cells.next().unwrap_or_default();
    let default = cells.next().unwrap_or_default();
    let default = match default.starts_with("required") {
        true => default,
        false => format!("default: {default}"),
    };
    roff.control("TP", []).text([bold(key)]).text([roman(format!("{about} ({default})"))]);
}

/// Returns a text of the book without the marks of words and links, in one line.
fn plain(text: &str) -> String {
    let text = text.replace('`', "").replace('\n', " ");
    let mut parts = text.split("](");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // What follows is the address of a link, whose text began with a bracket.
        let open = all.rfind('[').unwrap_or_default();
        all.remove(open);
        all.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    all
}

#[cfg(test)]
mod tests {
    use garland_core::cluster::Cluster;

    use super::*;

    #[test]
    fn the_page_has_all_keys_and_an_example_that_can_be_read() {
        let mut page = Vec::new();
        write(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        for key in ["version", "launcher", "[cluster] name", "[[nodes]] names", "rails", "fanout"] {
            assert!(page.contains(&format!(".TP\n\\fB{key}\\fR\n")), "{key} in\n{page}");
        }
        assert!(
            page.contains("must belong to the user") && page.contains("names = \"n["),
            "{page}"
        );
        assert!(!page.contains("```") && !page.contains("](") && !page.contains('`'), "{page}");
        let cluster = Cluster::parse(EXAMPLE, NAME).unwrap();
        assert_eq!(cluster.nodes.len(), 21);
    }

    #[test]
    fn marks_of_the_book_are_left_out() {
        let text = "a `[x]` in [the page](a.md#b) and\n[another](c)";
        assert_eq!(plain(text), "a [x] in the page and another");
    }
}
