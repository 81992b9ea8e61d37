//! One command for many inputs: `COMMAND {in} {out} ::: INPUT...`.

use super::{ListError, joined, numbered};
use crate::farm::{Command, Job, Text};

/// The separator between a command and its inputs.
pub const SEPARATOR: &[u8] = b":::";

/// A pattern for the output's path. `{}` is replaced with the input's path, `{.}` with the path
/// without its extension, `{/}` with the file name, `{/.}` with the file name without its
/// extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(pub Text);

impl Default for Pattern {
    fn default() -> Self {
        Self("{.}.out".into())
    }
}

impl Pattern {
    /// Returns the output's path for the input's path.
    pub fn of(&self, input: &Text) -> Text {
        let path = input.bytes();
        let slash = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
        let dot = path[slash..].iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0);
        let stem = &path[..dot.map_or(path.len(), |dot| slash + dot)];
        let placeholders: [(&[u8], &[u8]); 4] =
            [(b"{}", path), (b"{.}", stem), (b"{/}", &path[slash..]), (b"{/.}", &stem[slash..])];
        let mut name = Vec::new();
        let mut rest = self.0.bytes();
        while let Some(&first) = rest.first() {
            if let Some((placeholder, value)) =
                placeholders.iter().find(|(placeholder, _)| rest.starts_with(placeholder))
            {
                name.extend(*value);
                rest = &rest[placeholder.len()..];
            } else {
                name.push(first);
                rest = &rest[1..];
            }
        }
        Text(name)
    }
}

/// Returns the jobs of a command line: one for each input after `:::`, or a single job without
/// files if there is no `:::`. If the command has no placeholder for the input, the input becomes
/// its last argument. Each job has an output, whose path is made from the pattern `output`, if
/// there is one, or the command has `{out}`.
///
/// # Errors
/// If the command is missing, no input follows `:::`, two outputs have the same path, or a command
/// without inputs is to have files.
pub fn expand(words: &[Text], output: Option<&Pattern>) -> Result<Vec<Job>, ListError> {
    let at = words.iter().position(|word| word.bytes() == SEPARATOR);
    let (command, inputs) = words.split_at(at.unwrap_or(words.len()));
    if command.is_empty() {
        return Err(ListError::Arguments("the command before ::: is missing".to_owned()));
    }
    let has = |placeholder: &[u8]| {
        command
            .iter()
            .any(|word| word.bytes().windows(placeholder.len()).any(|part| part == placeholder))
    };
    let makes = output.is_some() || has(b"{out}");
    let Some((_, inputs)) = inputs.split_first() else {
        if output.is_some() {
            let why = "--out needs inputs, after ::: behind the command";
            return Err(ListError::Arguments(why.to_owned()));
        }
        let job = Job::new(0, joined(command), Command::Words(command.to_vec()));
        return numbered(vec![job]);
    };
    let needs_input = !has(b"{}") && !has(b"{in}");
    let mut command = command.to_vec();
    if needs_input {
        command.push("{}".into());
    }
    let usual = Pattern::default();
    let output = output.unwrap_or(&usual);
    let job = |input: &Text| Job {
        inputs: vec![input.clone()],
        outputs: makes.then(|| output.of(input)).into_iter().collect(),
        ..Job::new(0, input.clone(), Command::Words(command.clone()))
    };
    let jobs = numbered(inputs.iter().map(job).collect())?;
    let mut outputs: Vec<&Text> = jobs.iter().flat_map(|job| &job.outputs).collect();
    outputs.sort_unstable();
    match outputs.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ListError::Arguments(format!(
            "two jobs would create {}: choose another name pattern with --out",
            pair[0]
        ))),
        None => Ok(jobs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Text> {
        text.split(' ').map(Text::from).collect()
    }

    #[test]
    fn each_input_is_a_job() {
        let jobs =
            expand(&words("lame {in} {out} ::: a.wav b/c"), Some(&Pattern("{.}.mp3".into())))
                .unwrap();
        assert_eq!(jobs.len(), 2);
        assert_eq!(jobs[1].inputs, ["b/c".into()]);
        assert_eq!(jobs[1].outputs, ["b/c.mp3".into()]);
        assert_eq!(jobs[0].outputs, ["a.mp3".into()]);
        let sums = expand(&words("md5sum ::: x"), None).unwrap();
        assert_eq!(sums[0].command, Command::Words(words("md5sum {}")));
        assert!(sums[0].outputs.is_empty());
        // What the user names is an output, also if the command writes it by itself.
        let own = expand(&words("gzip -k ::: x"), Some(&Pattern("{}.gz".into()))).unwrap();
        assert_eq!(own[0].outputs, ["x.gz".into()]);
    }

    #[test]
    fn outputs_are_called_after_inputs() {
        let of = |pattern: &str, input: &str| Pattern(pattern.into()).of(&input.into()).to_string();
        assert_eq!(of("{.}.mp3", "a.b/c.wav"), "a.b/c.mp3");
        assert_eq!(of("{.}.mp3", "a.b/.c"), "a.b/.c.mp3");
        assert_eq!(of("out/{/.}-{/}{", "a/c.wav"), "out/c-c.wav{");
    }

    #[test]
    fn what_can_not_be_is_refused() {
        assert!(expand(&words("::: a"), None).is_err());
        assert_eq!(expand(&words("x :::"), None), Err(ListError::Empty));
        let two = expand(&words("x {out} ::: a.x a.y"), None);
        assert!(matches!(two, Err(ListError::Arguments(why)) if why.contains("a.out")));
        // A shell's own variable.
        assert!(expand(&words("sh -c out=1;${out}"), None).is_ok());
        assert!(expand(&words("x y"), Some(&Pattern::default())).is_err());
        assert_eq!(expand(&words("x y"), None).unwrap()[0].name, "x y".into());
    }
}
