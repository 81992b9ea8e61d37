//! Manual pages: what clap_mangen makes of the definition of a command, its exit codes, examples,
//! and the pages to read next.

pub mod cluster_file;

use std::io::{Error, Write};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

/// The examples of pages. After the line with a page's name come sentences, each with its commands
/// further to the right, and a line `see` with other pages.
const EXAMPLES: &str = include_str!("manual.txt");

/// The sections at the end of clap_mangen's pages, which these pages have at other places.
const LAST: [&str; 2] = [".SH EXTRA\n", ".SH VERSION\n"];

/// Writes the page of `command`, whose name `garland-...` is built. `program` is the command
/// `garland`.
pub fn write(command: &Command, program: &Command, out: &mut impl Write) -> Result<(), Error> {
    // Otherwise clap_mangen omits the text of an option that `-h` does not list.
    let own = command.clone().mut_args(|arg| arg.hide_short_help(false));
    let mut text = Vec::new();
    // Without a date, and roff(7) takes an empty argument for none.
    let man = Man::new(own).date(" ").source(concat!("Garland ", env!("CARGO_PKG_VERSION")));
    man.manual("Garland").render(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let end = LAST.iter().filter_map(|last| text.find(last)).min().unwrap_or(text.len());
    out.write_all(text[..end].as_bytes())?;
    // What is at its start is in `text`.
    let more = sections(name(command), program).render();
    out.write_all(&more.as_bytes()[more.find(".SH").unwrap_or(0)..])
}

/// Returns the name of the page of `command`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

fn sections(name: &str, program: &Command) -> Roff {
    let mut roff = Roff::new();
    let help = program.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (nodes, codes) = help.split_once("\n\nExit codes:\n").unwrap_or((&help, ""));
    if name == program.get_name() {
        roff.control("SH", ["NODES"]);
        put_lines(&mut roff, nodes.lines());
    }
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in codes.lines().filter_map(|line| line.trim().split_once(' ')) {
        roff.control("TP", []).text([bold(code)]).text([roman(meaning.trim())]);
    }
    let mut see: Vec<&str> = Vec::new();
    roff.control("SH", ["EXAMPLES"]);
    for line in EXAMPLES.lines().skip_while(|line| *line != name).skip(1) {
        if let Some(command) = line.strip_prefix("    ") {
            roff.control("RS", ["4"]);
            put_lines(&mut roff, [command]);
            roff.control("RE", []);
        } else if let Some(pages) = line.strip_prefix("  see ") {
            see.extend(pages.split(' '));
        } else if let Some(sentence) = line.strip_prefix("  ") {
            roff.control("PP", []).text([roman(sentence)]);
        } else {
            break;
        }
    }
    let above = name.rsplit_once('-').map(|(above, _)| format!("{above}(1)"));
    see.splice(..0, above.as_deref());
    roff.control("SH", ["SEE ALSO"]).text([roman(see.join(", "))]);
    roff
}

/// Appends lines that are not filled.
fn put_lines<'a>(roff: &mut Roff, lines: impl IntoIterator<Item = &'a str>) {
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

#[cfg(test)]
mod tests;
