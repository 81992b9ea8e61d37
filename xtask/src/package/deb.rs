//! Makes the Debian package: the program, its manual and completions, and the systemd units of
//! `docs/deploy.md` and `docs/spool.md`. The package has no dependencies, since the program is
//! static.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::checkout::Checkout;
use super::release::Program;
use super::staging::{COPYRIGHT, Staging, said};

/// The package's version: the program's version and Debian revision 1.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-1");

const CONTROL: &str = include_str!("../../../packaging/control");
const OVERRIDES: &str = include_str!("../../../packaging/lintian-overrides");
const CLUSTER_FILE: &str = include_str!("../../../packaging/cluster.toml");
const SERVICE: &str = include_str!("../../../packaging/garland-up.service");
const SPOOL: &str = include_str!("../../../packaging/garland-spool@.service");
const TIMER: &str = include_str!("../../../packaging/garland-up.timer");

/// Makes the package in the directory `folder`, and returns its path.
///
/// # Errors
/// If a tool is missing.
pub(super) fn build(checkout: &Checkout, program: &Program, folder: &Path) -> Result<PathBuf> {
    let architecture = program.architecture();
    let staging = Staging::new(folder.join("garland"))?;
    put_program(&staging, program)?;
    put_documents(&staging, checkout)?;
    let files = staging.settle()?;
    put_control(&staging, architecture, &files)?;
    let package = folder.join(format!("garland_{VERSION}_{architecture}.deb"));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "--build"]).arg(&staging.0).arg(&package);
    said(dpkg.env("SOURCE_DATE_EPOCH", &checkout.time))?;
    Ok(package)
}

fn put_program(staging: &Staging, program: &Program) -> Result<()> {
    program.copy_to(&staging.folder("usr/bin/garland")?)?;
    let completions = [
        ("bash", "usr/share/bash-completion/completions/garland"),
        ("zsh", "usr/share/zsh/vendor-completions/_garland"),
        ("fish", "usr/share/fish/vendor_completions.d/garland.fish"),
    ];
    for (shell, place) in completions {
        staging.put(place, said(program.command().args(["completions", shell]))?)?;
    }
    let manual = staging.0.join("usr/share/man/man1");
    said(program.command().args(["man", "--directory"]).arg(&manual))?;
    let cluster_file = said(program.command().args(["man", "cluster.toml"]))?;
    staging.put_packed("usr/share/man/man5/cluster.toml.5", cluster_file)?;
    let mut gzip = Command::new("gzip");
    gzip.arg("-9n").current_dir(&manual);
    for page in fs::read_dir(&manual).context("failed to list the manual")? {
        gzip.arg(page.context("failed to list the manual")?.file_name());
    }
    said(&mut gzip)?;
    staging.put("usr/lib/systemd/user/garland-up.service", SERVICE)?;
    staging.put("usr/lib/systemd/user/garland-up.timer", TIMER)?;
    staging.put("usr/lib/systemd/user/garland-spool@.service", SPOOL)?;
    Ok(())
}

fn put_documents(staging: &Staging, checkout: &Checkout) -> Result<()> {
    staging.put("usr/share/doc/garland/copyright", COPYRIGHT)?;
    staging.put("usr/share/doc/garland/examples/cluster.toml", CLUSTER_FILE)?;
    let changes =
        fs::read(checkout.root.join("CHANGELOG.md")).context("failed to read CHANGELOG.md")?;
    staging.put_packed("usr/share/doc/garland/changelog", changes)?;
    let date = text(Command::new("date").args(["-u", "-R", "-d", &format!("@{}", checkout.time)]))?;
    let maintainer = CONTROL.lines().find_map(|line| line.strip_prefix("Maintainer: "));
    let entry = format!(
        "garland ({VERSION}) unstable; urgency=medium\n\n  * What has changed is in changelog.gz.\n\n \
         -- {}  {}\n",
        maintainer.context("packaging/control has no maintainer")?,
        date.trim(),
    );
    staging.put_packed("usr/share/doc/garland/changelog.Debian", entry)?;
    staging.put("usr/share/lintian/overrides/garland", OVERRIDES)?;
    Ok(())
}

fn put_control(staging: &Staging, architecture: &str, files: &[String]) -> Result<()> {
    let mut bytes = 0;
    for file in files {
        bytes += fs::metadata(staging.0.join(file))
            .context("failed to read the size of a packed file")?
            .len();
    }
    let sums = said(Command::new("md5sum").args(files).current_dir(&staging.0))?;
    let control = CONTROL
        .replace("@VERSION@", VERSION)
        .replace("@ARCHITECTURE@", architecture)
        .replace("@KIB@", &bytes.div_ceil(1024).to_string());
    staging.put("DEBIAN/control", control)?;
    staging.put("DEBIAN/md5sums", sums)?;
    Ok(())
}

fn text(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8_lossy(&said(command)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_are_those_of_the_book() {
        let deploy = include_str!("../../../docs/deploy.md");
        let spool = include_str!("../../../docs/spool.md");
        for (name, page, unit) in [
            ("deploy.md", deploy, SERVICE),
            ("deploy.md", deploy, TIMER),
            ("spool.md", spool, SPOOL),
        ] {
            assert!(page.contains(unit), "docs/{name} has another one than:\n{unit}");
        }
    }

    #[test]
    fn systemd_understands_all_of_the_units() {
        let folder = std::env::temp_dir().join(format!("garland-units-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let units = [
            ("garland-up.service", SERVICE),
            ("garland-up.timer", TIMER),
            ("garland-spool@models.service", SPOOL),
        ];
        let mut verify = Command::new("systemd-analyze");
        verify.args(["verify", "--user", "--man=no"]).env("XDG_RUNTIME_DIR", &folder);
        for (name, unit) in units {
            let path = folder.join(name);
            // The package is not installed here, and the program must exist.
            fs::write(&path, unit.replace("/usr/bin/garland", "/bin/true")).unwrap();
            verify.arg(path);
        }
        let output = verify.output();
        fs::remove_dir_all(&folder).unwrap();
        let output = output.unwrap();
        // Keys that it does not know are no failure to it.
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{said}");
    }

    #[test]
    fn the_example_of_a_cluster_file_is_that_of_the_book() {
        let book = include_str!("../../../docs/cluster.md");
        let example = CLUSTER_FILE.split_once("\n\n").map_or("", |(_, example)| example);
        assert!(!example.is_empty() && book.contains(example), "docs/cluster.md has another one");
    }
}
