//! The trusted certificate authorities.

use std::ffi::OsString;
use std::path::Path;

use garland_core::printable;
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};
use ureq::tls::{Certificate, RootCerts};

use crate::trouble::Trouble;

/// The variable with the path of a file of certificates.
const FILE: &str = "SSL_CERT_FILE";

/// The variable with the paths of directories of certificates, separated by colons.
const FOLDERS: &str = "SSL_CERT_DIR";

/// Returns the certificate authorities that this machine trusts ([`FILE`] and [`FOLDERS`], or the
/// system's). If it has none, returns those of Mozilla, which are part of the program.
///
/// # Errors
/// When authorities were named, or the system has some, and they cannot be read: others are not
/// trusted in their place.
pub(crate) fn roots() -> Result<RootCerts, Trouble> {
    let chosen = named(|name| std::env::var_os(name))?;
    let found = match chosen {
        Some(found) => found,
        None => read(load_native_certs()).map_err(|why| {
            Trouble::new(format!("cannot read the system's certificate authorities: {why}"))
                .hint(format!("set {FILE} to a file of certificates"))
        })?,
    };
    Ok(if found.is_empty() { RootCerts::WebPki } else { RootCerts::from(found) })
}

/// Returns the authorities that the user's environment names; `None` if it names none.
fn named(
    environment: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<Vec<Certificate<'static>>>, Trouble> {
    let variable = |name| environment(name).filter(|value| !value.is_empty());
    let file = variable(FILE);
    let folders = variable(FOLDERS);
    if file.is_none() && folders.is_none() {
        return Ok(None);
    }
    let mut found = Vec::new();
    if let Some(file) = file {
        found.extend(of_path(
            FILE,
            Path::new(&file),
            load_certs_from_paths(Some(file.as_ref()), None),
        )?);
    }
    for folder in folders.iter().flat_map(std::env::split_paths) {
        // An empty part is no directory, as for OpenSSL.
        if !folder.as_os_str().is_empty() {
            found.extend(of_path(FOLDERS, &folder, load_certs_from_paths(None, Some(&folder)))?);
        }
    }
    Ok(Some(found))
}

/// Returns the certificates that were read from `path`, which the variable `name` names.
fn of_path(
    name: &str,
    path: &Path,
    read_result: CertificateResult,
) -> Result<Vec<Certificate<'static>>, Trouble> {
    let found = read(read_result).and_then(|found| match found.is_empty() {
        true => Err("it has no certificate".to_owned()),
        false => Ok(found),
    });
    found.map_err(|why| {
        Trouble::new(format!("cannot read {}, which {name} names: {why}", printable::path(path)))
            .hint(format!("to trust the system's certificate authorities instead: unset {name}"))
    })
}

/// Returns the certificates that were read.
///
/// # Errors
/// When one of their files cannot be read: it might be the one that is needed.
fn read(result: CertificateResult) -> Result<Vec<Certificate<'static>>, String> {
    match result.errors.first() {
        Some(error) => Err(error.to_string()),
        None => Ok(result.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn named_authorities_that_cannot_be_read_are_an_error_and_no_others_are_trusted() {
        let folder = std::env::temp_dir().join(format!("garland-trust-{}", std::process::id()));
        fs::create_dir_all(folder.join("none")).unwrap();
        fs::write(folder.join("text.pem"), "no certificate").unwrap();
        fs::write(folder.join("cut.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n").unwrap();
        for (name, path) in [
            (FILE, folder.join("missing.pem")),
            (FILE, folder.clone()),
            (FILE, folder.join("text.pem")),
            (FILE, folder.join("cut.pem")),
            (FOLDERS, folder.join("missing")),
            (FOLDERS, folder.join("none")),
            (FOLDERS, folder.clone()),
        ] {
            let value = |asked: &str| (asked == name).then(|| path.clone().into_os_string());
            let trouble = named(value).unwrap_err();
            assert!(trouble.message().contains(name), "{}", trouble.message());
            assert!(trouble.message().contains(&*path.to_string_lossy()), "{}", trouble.message());
        }
        assert!(named(|_| None).unwrap().is_none());
        assert!(named(|_| Some(OsString::new())).unwrap().is_none());
        fs::remove_dir_all(&folder).unwrap();
    }
}
