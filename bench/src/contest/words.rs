//! The command-line arguments of benchmarks: options with a value, and `--no-write`.

use std::fmt;

use anyhow::{Context, Result, anyhow, bail};

use super::Contest;

/// An option: its name, its default or a placeholder in capitals, and its meaning.
pub(crate) type Choice = (&'static str, &'static str, &'static str);

/// The options of a benchmark.
pub(crate) struct Usage {
    /// The benchmark's name.
    pub(crate) name: &'static str,
    /// The options that have a value.
    pub(crate) options: Vec<Choice>,
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "cargo xtask bench {} [options]\n", self.name)?;
        for (name, shown, about) in &self.options {
            writeln!(f, "  {:<27} {about}", format!("{name} {shown}"))?;
        }
        write!(f, "  {:<27} print only, leave bench/results/ alone", "--no-write")
    }
}

impl Usage {
    /// Parses the arguments.
    ///
    /// # Errors
    /// If an option is unknown or lacks its value; the error contains the usage text.
    pub(crate) fn parse(self, args: &[String]) -> Result<Words> {
        let mut words = Words { usage: self, write: true, given: Vec::new() };
        let mut args = args.iter();
        while let Some(option) = args.next() {
            if option == "--no-write" {
                words.write = false;
                continue;
            }
            let known = words.usage.options.iter().find(|(name, ..)| name == option);
            let (Some((name, ..)), Some(value)) = (known, args.next()) else {
                let usage = words.usage;
                bail!("option `{option}` is unknown or its value is missing\n\n{usage}");
            };
            words.given.push((name, value.clone()));
        }
        Ok(words)
    }
}

/// The parsed arguments.
pub(crate) struct Words {
    usage: Usage,
    /// Whether the result is written to files.
    pub(crate) write: bool,
    /// The options with their values, in the order of the command line.
    given: Vec<(&'static str, String)>,
}

impl Words {
    /// Returns the last value that was given for `option`.
    pub(crate) fn given(&self, option: &str) -> Option<&str> {
        let found = self.given.iter().rfind(|(name, _)| *name == option);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the value of `option`, which is its default if none was given.
    pub(crate) fn value(&self, option: &str) -> &str {
        let default = || self.usage.options.iter().find(|(name, ..)| *name == option);
        self.given(option).or_else(|| default().map(|(_, shown, _)| *shown)).unwrap_or_default()
    }

    /// Parses the value of `option` by `parse`.
    ///
    /// # Errors
    /// If that fails; the error contains the usage text.
    pub(crate) fn parsed<'a, T>(
        &'a self,
        option: &str,
        parse: impl FnOnce(&'a str) -> Result<T>,
    ) -> Result<T> {
        let value = self.value(option);
        parse(value).map_err(|error| {
            let usage = &self.usage;
            anyhow!("invalid `{option} {value}`: {error:#}\n\n{usage}")
        })
    }

    /// Parses the value of `option`, which must be a number above 0.
    pub(crate) fn count(&self, option: &str) -> Result<usize> {
        self.parsed(option, |text| {
            let count: usize = text.parse().context("not a number")?;
            Some(count).filter(|&count| count > 0).context("at least 1 is needed")
        })
    }

    /// Returns the number of rounds, each with one turn of every tool.
    pub(super) fn rounds(&self) -> Result<usize> {
        self.count("--rounds")
    }

    /// Returns the contests whose title contains the text of `--only`.
    pub(super) fn choose<'c, P>(
        &self,
        contests: impl Iterator<Item = &'c Contest<P>>,
    ) -> Vec<&'c Contest<P>> {
        let only = self.given("--only").unwrap_or_default();
        contests.filter(|contest| contest.title.contains(only)).collect()
    }

    /// Checks that `--only` chooses at least one contest.
    ///
    /// # Errors
    /// If no title contains the text.
    pub(super) fn refuse_nothing<'c, P: 'static>(
        &self,
        contests: impl Iterator<Item = &'c Contest<P>>,
    ) -> Result<()> {
        let only = self.given("--only").unwrap_or_default();
        let titles: Vec<_> = contests.map(|contest| contest.title).collect();
        if !titles.iter().any(|title| title.contains(only)) {
            bail!("`--only {only}` matches none of these titles: {}", titles.join("; "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Words> {
        let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        let options = vec![
            ("--cc", "reno", "congestion control"),
            ("--rounds", "7", "rounds"),
            ("--only", "WORDS", "titles"),
        ];
        let words = Usage { name: "x", options }.parse(&words)?;
        words.rounds()?;
        Ok(words)
    }

    #[test]
    fn words_are_understood_or_refused() {
        let words = parse("--cc bbr --no-write --only shared --cc reno").unwrap();
        let only = words.given("--only");
        assert_eq!((words.rounds().unwrap(), words.write, only), (7, false, Some("shared")));
        assert_eq!((words.given("--cc"), words.given("--size")), (Some("reno"), None));
        assert_eq!(words.value("--cc"), "reno");
        assert_eq!(parse("--rounds 3").unwrap().rounds().unwrap(), 3);
        for text in ["--rounds 0", "--rounds", "--rounds x", "--fast", "--fast 1", "9"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
