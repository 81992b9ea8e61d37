//! Reads the configuration files of the AWS tools.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The settings of a profile by their keys.
pub(crate) type Profile = BTreeMap<String, String>;

/// Reads the profile `AWS_PROFILE`, or the default one, from `~/.aws/config` and
/// `~/.aws/credentials`, or the files that `AWS_CONFIG_FILE` and `AWS_SHARED_CREDENTIALS_FILE`
/// name. Returns `None` if `AWS_PROFILE` is set and neither file contains this profile.
pub(crate) fn read(environment: &dyn Fn(&str) -> Option<String>) -> Option<Profile> {
    let home = || environment("HOME").map(|home| PathBuf::from(home).join(".aws"));
    let file = |variable, name: &str| {
        let path = environment(variable).map(PathBuf::from).or_else(|| Some(home()?.join(name)))?;
        std::fs::read_to_string(path).ok()
    };
    let named = environment("AWS_PROFILE");
    let name = named.as_deref().unwrap_or("default");
    let config = file("AWS_CONFIG_FILE", "config").unwrap_or_default();
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials").unwrap_or_default();
    // In the config file, the word `profile` precedes the names of profiles; it is optional for the
    // default one.
    let sections = [(&config, format!("profile {name}")), (&credentials, name.to_owned())];
    let mut found = (name == "default").then(|| section(&config, name)).flatten();
    for (text, heading) in sections {
        if let Some(more) = section(text, &heading) {
            found.get_or_insert_default().extend(more);
        }
    }
    found.or_else(|| named.is_none().then(Profile::new))
}

/// Returns the section with this heading. Ignores indented lines, which are nested settings of the
/// line before.
fn section(text: &str, heading: &str) -> Option<Profile> {
    let mut found: Option<Profile> = None;
    let mut inside = false;
    for line in text.lines().filter(|line| !line.starts_with(['#', ';', ' ', '\t'])) {
        if let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            inside = name.split_whitespace().eq(heading.split_whitespace());
            if inside {
                found.get_or_insert_default();
            }
        } else if let (true, Some((key, value))) = (inside, line.split_once('=')) {
            let value = value.trim().to_owned();
            found.get_or_insert_default().insert(key.trim().to_ascii_lowercase(), value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "[default]\nregion = eu-west-1\n[profile lab]\nregion=us-west-2\n\
                          s3 =\n  addressing_style = path\nendpoint_url = http://s3.lab:9000\n";

    #[test]
    fn sections_are_found_by_their_headings() {
        let lab = section(CONFIG, "profile lab").expect("the section exists");
        assert_eq!(lab["endpoint_url"], "http://s3.lab:9000");
        assert_eq!(lab["region"], "us-west-2");
        assert!(!lab.contains_key("addressing_style"));
        assert_eq!(section(CONFIG, "lab"), None);
    }

    #[test]
    fn a_profile_is_what_both_files_say() {
        let folder = std::env::temp_dir().join(format!("garland-profile-{}", std::process::id()));
        std::fs::create_dir_all(folder.join(".aws")).expect("a folder");
        std::fs::write(folder.join(".aws/config"), CONFIG).expect("a file");
        let keys = "# mine\n[lab]\naws_access_key_id = K\naws_secret_access_key = a=b\n";
        std::fs::write(folder.join(".aws/credentials"), keys).expect("a file");
        let home = folder.to_str().expect("text").to_owned();
        let with = |profile: Option<&str>| {
            let home = home.clone();
            let profile = profile.map(str::to_owned);
            read(&move |name: &str| match name {
                "HOME" => Some(home.clone()),
                "AWS_PROFILE" => profile.clone(),
                _ => None,
            })
        };
        let lab = with(Some("lab")).expect("the profile exists");
        assert_eq!(
            (lab["aws_secret_access_key"].as_str(), lab["region"].as_str()),
            ("a=b", "us-west-2")
        );
        assert_eq!(with(None).expect("the default")["region"], "eu-west-1");
        assert_eq!(with(Some("other")), None);
        std::fs::remove_dir_all(folder).expect("it was made");
    }
}
