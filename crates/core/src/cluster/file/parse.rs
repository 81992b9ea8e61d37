use toml::de::{DeTable, DeValue};

use super::entries;
use super::error::{ClusterFileError, ClusterFileProblem, Fault};
use super::groups;
use super::section::{Section, Text, wrong_kind};
use crate::cluster::inventory::{Cluster, DEFAULT_FANOUT, Launcher, Ssh};
use crate::cluster::nearest::nearest;

/// The version of the format that is read here.
const VERSION: &str = "1";

impl Cluster {
    /// Reads the text of a [cluster file](crate::cluster::file); `file_name` is for messages, and
    /// for the cluster's name when the file gives none.
    ///
    /// # Errors
    /// [`ClusterFileError`] says what is wrong, where, and what is allowed.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, ClusterFileError> {
        read(text, file_name).map_err(|fault| fault.in_file(text, file_name))
    }
}

fn read(text: &str, file_name: &str) -> Result<Cluster, Fault> {
    let document = DeTable::parse(text).map_err(|error| {
        let message = error.message().trim().replace('\n', "; ");
        Fault::new(error.span().unwrap_or(0..0), ClusterFileProblem::Syntax(message))
    })?;
    check_version(document.get_ref())?;
    let keys = ["version", "launcher", "cluster", "nodes", "groups", "ssh"];
    let root = Section::new("the cluster file", 0..0, document.get_ref(), &keys)?;
    let nodes = entries::nodes(text, &root)?;
    Ok(Cluster {
        name: name(&root, file_name)?,
        groups: groups::groups(text, &root, &nodes)?,
        nodes,
        launcher: launcher(&root)?,
        ssh: ssh(&root)?,
    })
}

/// Before all else, so that a newer file isn't told that its keys are wrong.
fn check_version(document: &DeTable<'_>) -> Result<(), Fault> {
    let value =
        document.get("version").ok_or_else(|| Fault::new(0..0, ClusterFileProblem::NoVersion))?;
    match value.get_ref() {
        DeValue::Integer(version) if version.to_string() == VERSION => Ok(()),
        DeValue::Integer(version) => {
            Err(Fault::new(value.span(), ClusterFileProblem::Version(version.to_string())))
        }
        other => Err(wrong_kind("version", "the number 1", other, value.span())),
    }
}

fn name(root: &Section<'_>, file_name: &str) -> Result<String, Fault> {
    let given = match root.section("cluster", "[cluster]", &["name"])? {
        Some(section) => section.text("name")?,
        None => None,
    };
    let last = file_name.rsplit('/').next().unwrap_or(file_name);
    let stem = last.strip_suffix(".toml").unwrap_or(last);
    Ok(given.map_or(stem, |text| text.value).to_owned())
}

fn launcher(root: &Section<'_>) -> Result<Launcher, Fault> {
    let Some(text) = root.text("launcher")? else {
        return Ok(Launcher::default());
    };
    let known = Launcher::ALL.iter().find(|(name, _)| *name == text.value);
    known.map(|(_, launcher)| *launcher).ok_or_else(|| {
        let names = Launcher::ALL.map(|(name, _)| name);
        let problem = ClusterFileProblem::Word {
            key: "launcher",
            found: text.value.to_owned(),
            allowed: names.join(", "),
            near: nearest(text.value, names),
        };
        Fault::new(text.span, problem)
    })
}

fn ssh(root: &Section<'_>) -> Result<Ssh, Fault> {
    let Some(section) = root.section("ssh", "[ssh]", &["user", "options", "binary", "fanout"])?
    else {
        return Ok(Ssh::default());
    };
    let word = |key| section.text(key)?.map(|text| one_word(key, text)).transpose();
    Ok(Ssh {
        user: word("user")?,
        options: section.texts("options")?.into_iter().map(|text| text.value.to_owned()).collect(),
        binary: section.text("binary")?.map(|text| text.value.to_owned()),
        fanout: section.integer("fanout", 1..=10_000)?.unwrap_or(DEFAULT_FANOUT),
    })
}

/// A text that no program takes for an option or for two words.
fn one_word(key: &'static str, text: Text<'_>) -> Result<String, Fault> {
    if text.value.starts_with('-')
        || text.value.contains(|c: char| c.is_whitespace() || c.is_control())
    {
        let problem = ClusterFileProblem::Unsafe { key, found: text.value.to_owned() };
        return Err(Fault::new(text.span, problem));
    }
    Ok(text.value.to_owned())
}
