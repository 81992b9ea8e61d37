//! The command-line arguments that benchmarks of contests share.

use anyhow::{Context, Result, bail};

use super::Contest;

/// The parsed arguments.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// Number of rounds, each with one turn of every tool.
    pub(crate) rounds: usize,
    /// Only contests with this text in their title are held.
    pub(crate) only: String,
    /// Whether the result is written to files.
    pub(crate) write: bool,
    /// The benchmark's own options and their values.
    others: Vec<(String, String)>,
}

impl Words {
    /// Parses the arguments: `rounds` is the default number of rounds, `own` are the benchmark's own options,
    /// each with a value.
    ///
    /// # Errors
    /// If an argument is wrong; the error contains `usage`.
    pub(crate) fn parse(args: &[String], rounds: usize, own: &[&str], usage: &str) -> Result<Self> {
        let mut words = Self { rounds, only: String::new(), write: true, others: Vec::new() };
        let mut args = args.iter().map(String::as_str);
        while let Some(option) = args.next() {
            if option == "--no-write" {
                words.write = false;
                continue;
            }
            let known = ["--rounds", "--only"].contains(&option) || own.contains(&option);
            let Some(value) = args.next().filter(|_| known) else {
                bail!("option `{option}` is unknown or its value is missing\n\n{usage}");
            };
            match option {
                "--rounds" => {
                    let rounds = value
                        .parse()
                        .with_context(|| format!("`--rounds {value}` is not a number"))?;
                    words.rounds =
                        Some(rounds).filter(|&rounds| rounds > 0).with_context(|| {
                            format!("`--rounds 0`: at least one round is needed\n\n{usage}")
                        })?;
                }
                "--only" => value.clone_into(&mut words.only),
                _ => words.others.push((option.to_owned(), value.to_owned())),
            }
        }
        Ok(words)
    }

    /// Returns the last value given for `option`, one of the benchmark's own options.
    pub(crate) fn other(&self, option: &str) -> Option<&str> {
        let found = self.others.iter().rfind(|(name, _)| name == option);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the contests whose title contains the text of `--only`.
    pub(crate) fn choose<P>(&self, mut contests: Vec<Contest<P>>) -> Vec<Contest<P>> {
        contests.retain(|contest| contest.title.contains(&self.only));
        contests
    }

    /// Checks that `--only` chooses at least one contest.
    ///
    /// # Errors
    /// If no title contains the text.
    pub(crate) fn refuse_nothing<P>(&self, contests: &[Contest<P>]) -> Result<()> {
        let titles: Vec<_> = contests.iter().map(|contest| contest.title).collect();
        if !titles.iter().any(|title| title.contains(&self.only)) {
            bail!("`--only {}` matches none of these titles: {}", self.only, titles.join("; "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Words> {
        let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        Words::parse(&words, 7, &["--cc"], "usage")
    }

    #[test]
    fn words_are_understood_or_refused() {
        let words = parse("--cc bbr --no-write --only shared --cc reno").unwrap();
        assert_eq!((words.rounds, words.write, &*words.only), (7, false, "shared"));
        assert_eq!((words.other("--cc"), words.other("--size")), (Some("reno"), None));
        assert_eq!(parse("--rounds 3").unwrap().rounds, 3);
        for text in ["--rounds 0", "--rounds", "--rounds x", "--fast", "--fast 1", "9"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
