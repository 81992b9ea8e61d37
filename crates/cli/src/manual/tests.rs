use clap::CommandFactory;

use super::*;
use crate::args::Args;

/// Calls `check` with each command that has a page.
fn each(command: &Command, check: &mut impl FnMut(&Command)) {
    check(command);
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .for_each(|below| each(below, check));
}

fn program() -> Command {
    let mut program = Args::command().disable_help_subcommand(true);
    program.build();
    program
}

#[test]
fn every_page_has_examples_and_refers_to_pages() {
    let built = program();
    let mut names = Vec::new();
    each(&built, &mut |command| names.push(name(command).to_owned()));
    each(&built, &mut |command| {
        let mut page = Vec::new();
        write(command, &built, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        let page_name = name(command);
        assert!(page.contains(&format!(".TH {page_name} 1 \" \" \"Garland ")), "{page}");
        for (section, next) in [("EXIT STATUS", ".TP"), ("EXAMPLES", ".PP"), ("SEE ALSO", "")] {
            let title = format!(".SH {section}\n{next}");
            assert!(page.replace('"', "").contains(&title), "{page_name}: {section}");
        }
        assert!(!page.contains("SH EXTRA"), "{page_name}");
    });
    let titles = EXAMPLES.lines().filter(|line| !line.starts_with(' '));
    let seen = EXAMPLES.lines().filter_map(|line| line.strip_prefix("  see "));
    let seen = seen.flat_map(|pages| pages.split(' ')).map(|page| page.trim_end_matches("(1)"));
    for title in titles.chain(seen.filter(|page| page.starts_with("garland"))) {
        assert!(names.iter().any(|name| name == title), "{title}");
    }
}

#[test]
fn every_example_is_a_valid_command() {
    for line in EXAMPLES.lines().filter_map(|line| line.strip_prefix("    ")) {
        // Of a shell's quotes the examples have this one only, around whole words.
        let parts = line.split('\'').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        Args::parse_words(words).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}
