//! Addresses of remote files: `s3://BUCKET/KEY`, `https://HOST/PATH`.

use std::fmt;

use percent_encoding::percent_decode_str;

use crate::trouble::Trouble;

/// The address of a remote file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An object in an object store.
    S3 {
        /// The bucket.
        bucket: String,
        /// The object's key.
        key: String,
    },
    /// A file behind an HTTP or HTTPS URL.
    Http(
        /// The whole URL, which may contain secrets.
        String,
    ),
}

impl Address {
    /// Parses an address; returns `None` if `text` does not begin with a remote scheme.
    ///
    /// # Errors
    /// When it begins like a remote address but is invalid.
    pub fn parse(text: &str) -> Option<Result<Self, Trouble>> {
        let (scheme, rest) = text.split_once("://")?;
        match scheme.to_ascii_lowercase().as_str() {
            "s3" => Some(Self::in_bucket(rest)),
            "http" | "https" => Some(match rest.split(['/', '?', '#']).next() {
                None | Some("") => Err(Trouble::new(format!("{text}: the host is missing"))),
                Some(_) => Ok(Self::Http(text.split('#').next().unwrap_or(text).to_owned())),
            }),
            _ => None,
        }
    }

    fn in_bucket(rest: &str) -> Result<Self, Trouble> {
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            let form = "write the address of an object as s3://BUCKET/KEY";
            return Err(Trouble::new(format!("s3://{rest}: the bucket is missing")).hint(form));
        }
        Ok(Self::S3 { bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// Returns whether the address cannot be that of a single object: it is a bucket, or ends in a
    /// slash.
    #[must_use]
    pub fn is_prefix(&self) -> bool {
        matches!(self, Self::S3 { key, .. } if key.is_empty() || key.ends_with('/'))
    }

    /// Returns the file name, which is the last component of the path; `None` if it is not valid.
    #[must_use]
    pub fn file_name(&self) -> Option<Vec<u8>> {
        let name: Vec<u8> = match self {
            Self::S3 { key, .. } => key.rsplit('/').next()?.as_bytes().to_vec(),
            Self::Http(url) => {
                let path = bare(url).split_once("://")?.1.split_once('/')?.1;
                percent_decode_str(path.rsplit('/').next()?).collect()
            }
        };
        let fits = !matches!(name.as_slice(), b"" | b"." | b"..");
        (fits && !name.contains(&b'/') && !name.contains(&0)).then_some(name)
    }
}

/// Prints the address without its query, user name and password, which may be secret.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::S3 { bucket, key } => write!(f, "s3://{bucket}/{key}"),
            Self::Http(url) => {
                let (scheme, rest) = bare(url).split_once("://").unwrap_or(("", url));
                let (host, path) = match rest.find('/') {
                    Some(at) => rest.split_at(at),
                    None => (rest, ""),
                };
                let host = host.rsplit('@').next().unwrap_or(host);
                write!(f, "{scheme}://{host}{path}")
            }
        }
    }
}

/// Returns a URL without its query.
fn bare(url: &str) -> &str {
    url.split('?').next().unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Address {
        Address::parse(text).expect("an address").expect("a sound one")
    }

    #[test]
    fn objects_and_urls_are_addresses_and_paths_are_not() {
        let key = "models/llama 70b.safetensors".to_owned();
        let expected = Address::S3 { bucket: "b".to_owned(), key };
        assert_eq!(parse("s3://b/models/llama 70b.safetensors"), expected);
        assert_eq!(parse("HTTPS://h/x#part"), Address::Http("HTTPS://h/x".to_owned()));
        for path in ["/data/x", "n[1-3]:/x", "s3:/x", "ftp://h/x", "./s3://b/x"] {
            assert_eq!(Address::parse(path), None, "{path}");
        }
    }

    #[test]
    fn what_names_no_file_is_refused() {
        for text in ["s3://", "s3:///x", "https://", "http:///x"] {
            assert!(matches!(Address::parse(text), Some(Err(_))), "{text}");
        }
    }

    #[test]
    fn files_are_called_as_their_path_ends() {
        for (text, name) in [
            ("s3://b/a/c%20d", Some("c%20d")),
            ("https://h/a/c%20d?X-Sig=1/2", Some("c d")),
            ("s3://b", None),
            ("s3://b/folder/", None),
            ("https://h", None),
            ("https://h/a/", None),
            ("https://h/%2e%2e", None),
            ("https://h/a%2fb", None),
        ] {
            assert_eq!(parse(text).file_name().as_deref(), name.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let address = parse("https://user:word@h:8/a/b?X-Amz-Signature=5ec3e7");
        assert_eq!(address.to_string(), "https://h:8/a/b");
    }
}
