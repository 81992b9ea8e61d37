//! Converts errors of the object store library to messages.

use garland_core::printable;
use object_store::Error;

use crate::address::Address;
use crate::bounds::{IN_PARTS, TOO_LONG};
use crate::transport::CUT;
use crate::trouble::Trouble;

/// The maximum number of characters of a response in a message.
const WORDS_MAX: usize = 500;

/// Converts an error of `operation` (`open` or `read`) on the object at `address`.
pub(crate) fn trouble(error: &Error, operation: &str, address: &Address) -> Trouble {
    if matches!(error, Error::Precondition { .. }) {
        return Trouble::changed(address);
    }
    let answer = Answer::from_error(error);
    let trouble = Trouble::new(format!("cannot {operation} {address}: {}", answer.in_words()));
    match answer.hint(error, address) {
        Some(hint) => trouble.hint(hint),
        None if answer.lacks_length() => trouble.hint(as_stream(address)),
        None => trouble,
    }
}

/// The response of a server, or the reason why there is none.
struct Answer {
    text: String,
    /// S3's error code, such as `NoSuchKey`; `None` if the response has none.
    code: Option<String>,
    /// S3's error message; `None` if the response has none.
    message: Option<String>,
    retries: Option<String>,
}

impl Answer {
    /// Extracts the response from an error. A message of the library consists of the request, a
    /// dash, and the response. The URL of the request may contain secrets, and the response may
    /// contain further dashes.
    fn from_error(error: &Error) -> Self {
        let all = match error {
            Error::Generic { source, .. }
            | Error::NotFound { source, .. }
            | Error::PermissionDenied { source, .. }
            | Error::Unauthenticated { source, .. }
            | Error::NotSupported { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        let (before, text) = all.split_once(" - ").unwrap_or(("", &all));
        let between = |open: &str, close: &str| {
            let (_, rest) = all.split_once(open)?;
            Some(rest.split_once(close)?.0.to_owned())
        };
        let retries = before.split_once(", after ").and_then(|(_, rest)| {
            let (count, _) = rest.split_once(" retries")?;
            Some(count.to_owned())
        });
        Self {
            text: text.to_owned(),
            code: between("<Code>", "</Code>"),
            message: between("<Message>", "</Message>"),
            retries,
        }
    }

    fn in_words(&self) -> String {
        let status = self.text.split_once("status code: ").map(|(_, rest)| rest);
        let status = status.map(|rest| rest.split(':').next().unwrap_or(rest).trim());
        let said = match (status, &self.code, &self.message) {
            (_, Some(code), Some(message)) => {
                format!("the server returned {code}: {}", message.trim_end_matches('.'))
            }
            (_, Some(code), None) => format!("the server returned {code}"),
            (Some(status), None, _) => format!("the server returned {status}"),
            (None, None, _) => {
                let text = self.text.trim();
                let text = text.strip_prefix("HTTP error: ").unwrap_or(text);
                text.strip_prefix("io: ")
                    .or(text.strip_prefix("other: "))
                    .unwrap_or(text)
                    .to_owned()
            }
        };
        let said = shortened(&said);
        let said = if self.text.ends_with(CUT) {
            format!("{said}, in a reply of which 64 KiB were read")
        } else {
            said
        };
        match self.retries.as_deref() {
            None | Some("0") => said,
            Some(retries) => format!("{said} (after {retries} retries)"),
        }
    }

    fn hint(&self, error: &Error, address: &Address) -> Option<&'static str> {
        let s3 = matches!(address, Address::S3 { .. });
        let code = self.code.as_deref().unwrap_or_default();
        match (error, code) {
            (_, "RequestTimeTooSkewed") => Some("the clock of this machine is wrong; set it"),
            (_, "ExpiredToken") => Some("AWS_SESSION_TOKEN has expired; get new credentials"),
            (_, "InvalidAccessKeyId" | "SignatureDoesNotMatch") => {
                Some("check that AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong to this store")
            }
            (_, "NoSuchBucket") => {
                Some("check the bucket, and that AWS_ENDPOINT_URL is the URL of its store")
            }
            (_, "AuthorizationHeaderMalformed" | "PermanentRedirect") => {
                Some("set AWS_REGION to the bucket's region")
            }
            _ if self.text.contains("redirect without LOCATION") => {
                Some("set AWS_REGION to the bucket's region")
            }
            (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, _) if s3 => {
                Some("check that AWS_ACCESS_KEY_ID or AWS_PROFILE may read the object")
            }
            (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, _) => {
                Some("check whether the URL needs a login, or has expired")
            }
            // Of a listing with keys that the library does not keep itself.
            _ if self.text.contains(TOO_LONG) => Some(IN_PARTS),
            _ if self.speaks_no_tls() => {
                Some("no TLS is spoken at this port: write http://, or the port of https")
            }
            _ => None,
        }
    }

    fn lacks_length(&self) -> bool {
        self.text.contains("Content-Length")
    }

    /// Returns whether what came in the place of a TLS handshake is none.
    fn speaks_no_tls(&self) -> bool {
        self.text.contains("corrupt message of type InvalidContentType")
    }
}

/// Returns text of a server for a message, which has no room for much of it.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(WORDS_MAX) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the hint for a file whose length the server does not send. A download that fails ends
/// the copy. What may be secret in the URL is left to the user.
fn as_stream(address: &Address) -> String {
    let url = match address {
        Address::Http(url) if *url == address.to_string() => url,
        Address::Http(_) | Address::S3 { .. } => "URL",
    };
    let download = printable::word(format!("|curl -sSfL {}", printable::word(url)));
    format!(
        "the server does not send the file's length; to copy it as a stream: garland cp {download} NODES:PATH"
    )
}

#[cfg(test)]
mod tests {
    use object_store::client::{HttpError, HttpErrorKind};

    use super::*;
    use crate::bounds::Unbounded;

    fn told(error: &Error, address: &str) -> (String, Option<String>) {
        let address = Address::parse(address).expect("an address").expect("a sound one");
        let told = trouble(error, "open", &address);
        (told.message().to_owned(), told.what_to_do().map(str::to_owned))
    }

    #[test]
    fn a_listing_that_takes_too_much_memory_is_to_be_copied_in_parts() {
        let unbounded = HttpError::new(HttpErrorKind::Unknown, Unbounded::TooLong(4 << 30));
        let error = Error::Generic { store: "S3", source: Box::new(unbounded) };
        let expected =
            "cannot open s3://b/k/: the server's listing takes more than 4096 MiB of memory";
        let hint = Some("copy parts of it, each by a longer prefix".to_owned());
        assert_eq!(told(&error, "s3://b/k/"), (expected.to_owned(), hint));
    }

    #[test]
    fn answers_are_told_without_the_request() {
        let text = "Error performing GET http://h/b/k?X-Amz-Signature=5ec3e7 in 1ms, after 6 retries, \
                    max_retries: 6, retry_timeout: 60s  - Server returned non-2xx status code: 503 \
                    Service Unavailable: ";
        let error = Error::Generic { store: "S3", source: text.into() };
        let expected =
            "cannot open s3://b/k: the server returned 503 Service Unavailable (after 6 retries)";
        assert_eq!(told(&error, "s3://b/k"), (expected.to_owned(), None));
    }

    #[test]
    fn what_s3_says_is_passed_on_with_what_to_do() {
        let text = "Error performing GET http://h/b/k in 1ms - Server returned non-2xx status code: \
                    403 Forbidden: <?xml?><Error><Code>SignatureDoesNotMatch</Code><Message>The \
                    signature is wrong.</Message></Error>";
        let error = Error::PermissionDenied { path: "k".to_owned(), source: text.into() };
        let (message, hint) = told(&error, "s3://b/k");
        assert_eq!(
            message,
            "cannot open s3://b/k: the server returned SignatureDoesNotMatch: The signature is wrong"
        );
        assert!(hint.is_some_and(|hint| hint.contains("AWS_SECRET_ACCESS_KEY")));
    }

    #[test]
    fn what_a_server_says_stays_within_a_line_of_bounded_length() {
        let said = |code: &str, message: &str| {
            let text = format!(
                "Error performing GET http://h/b/k in 1ms - Server returned non-2xx status code: 404 \
                 Not Found: <Error><Code>{code}</Code><Message>{message}</Message></Error>"
            );
            told(&Error::Generic { store: "S3", source: text.into() }, "s3://b/k").0
        };
        let start = "cannot open s3://b/k: the server returned ";
        assert_eq!(
            said("No\nhint: a", "b\r\u{2028}c"),
            format!(r"{start}No\nhint: a: b\r\u{{2028}}c")
        );
        assert_eq!(
            said("é", &"é".repeat(10_000)).chars().count(),
            start.len() + WORDS_MAX + 2 - 20
        );
        // What the library says of a reply, which it quotes.
        let text = format!("invalid date: {}\nhint: a", "x".repeat(10_000));
        let said = told(&Error::Generic { store: "S3", source: text.into() }, "s3://b/k").0;
        assert!(said.chars().count() < 600 && !said.contains('\n'), "{said}");
    }

    #[test]
    fn a_file_without_a_length_comes_with_the_command_that_copies_it() {
        let hint = |url: &str| {
            let error = Error::Generic { store: "HTTP", source: "Missing Content-Length".into() };
            told(&error, url).1.expect("a hint")
        };
        let command = "garland cp '|curl -sSfL https://h/a/b' NODES:PATH";
        assert!(hint("https://h/a/b").ends_with(command), "{}", hint("https://h/a/b"));
        let quoted = r"garland cp '|curl -sSfL '\''https://h/a b'\''' NODES:PATH";
        assert!(hint("https://h/a b").ends_with(quoted), "{}", hint("https://h/a b"));
        assert!(hint("https://h/a?X-Amz-Signature=5ec3e7").contains("'|curl -sSfL URL'"));
    }

    #[test]
    fn an_object_that_changed_is_known_as_such() {
        let error = Error::Precondition { path: "k".to_owned(), source: "412".into() };
        let address = Address::Http("https://h/k?s=1".to_owned());
        let told = trouble(&error, "read", &address);
        assert!(told.is_change());
        assert_eq!(told.message(), "https://h/k changed while it was copied");
    }
}
