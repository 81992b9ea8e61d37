//! Names and words of arbitrary bytes, and their representation as text.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::malformed::Malformed;

/// A name, a path or a word of a command, as arbitrary bytes.
///
/// In JSON and on a terminal it is text: invalid UTF-8 and control characters become `\xHH`, a
/// backslash becomes `\\`. The representation is unique and can be parsed back.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(pub Vec<u8>);

impl Text {
    /// Returns the bytes, without escapes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bytes as text, escaped where necessary.
    pub fn escaped(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) if !text.contains(|c: char| c == '\\' || c.is_control()) => text.into(),
            _ => self.0.utf8_chunks().fold(String::new(), push_chunk).into(),
        }
    }

    /// Parses the output of [`Text::escaped`].
    ///
    /// # Errors
    /// When a backslash is not followed by `\` or `xHH`.
    pub fn unescape(text: &str) -> Result<Self, Malformed> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('\\') {
            bytes.extend(&rest.as_bytes()[..at]);
            let after = &rest[at + 1..];
            if let Some(next) = after.strip_prefix('\\') {
                bytes.push(b'\\');
                rest = next;
                continue;
            }
            let hex = after.strip_prefix('x').and_then(|after| after.get(..2));
            let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
            let form = "escaped text: a backslash must be followed by \\ or xHH";
            bytes.push(byte.ok_or_else(|| Malformed::new(text, form))?);
            rest = &after[3..];
        }
        bytes.extend(rest.as_bytes());
        Ok(Self(bytes))
    }
}

fn push_chunk(mut text: String, chunk: std::str::Utf8Chunk<'_>) -> String {
    for c in chunk.valid().chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            c if c.is_control() => {
                let mut buffer = [0; 4];
                c.encode_utf8(&mut buffer).bytes().for_each(|byte| push_byte(&mut text, byte));
            }
            c => text.push(c),
        }
    }
    chunk.invalid().iter().for_each(|&byte| push_byte(&mut text, byte));
    text
}

fn push_byte(text: &mut String, byte: u8) {
    text.push_str(&format!("\\x{byte:02x}"));
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.escaped())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escaped())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&self.escaped()),
            false => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => {
                let text = Cow::<str>::deserialize(deserializer)?;
                Self::unescape(&text).map_err(de::Error::custom)
            }
            false => Vec::deserialize(deserializer).map(Self),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_look_like_themselves_where_they_can() {
        assert_eq!(Text::from("Lösung 1.wav").escaped(), "Lösung 1.wav");
        assert_eq!(Text(b"a\nb\\c\xff".to_vec()).escaped(), r"a\x0ab\\c\xff");
    }

    #[test]
    fn what_no_name_looks_like_is_refused() {
        for text in [r"\", r"\n", r"\x", r"\x1", r"\xg1", "\\xé"] {
            assert!(Text::unescape(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes: Vec<u8>) {
            let text = Text(bytes);
            let json = serde_json::to_string(&text).unwrap();
            prop_assert!(!json.contains('\n'));
            prop_assert_eq!(&serde_json::from_str::<Text>(&json).unwrap(), &text);
            let packed = postcard::to_stdvec(&text).unwrap();
            prop_assert_eq!(&postcard::from_bytes::<Text>(&packed).unwrap(), &text);
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            drop(Text::unescape(&text));
        }
    }
}
