//! The wire format of Protocol Buffers, as far as a trace needs it.
//!
//! Source: <https://protobuf.dev/programming-guides/encoding>. A field is a varint of the field's
//! number and type, followed by a varint, by eight bytes, or by a length and as many bytes.

/// The bytes of a message under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

const VARINT: u32 = 0;
const EIGHT: u32 = 1;
const LENGTH: u32 = 2;

impl Message {
    /// Returns the bytes of the message so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a field with an unsigned integer, a bool or an enum value.
    pub(super) fn number(mut self, field: u32, value: u64) -> Self {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    /// Appends a field with a fixed-size integer of eight bytes.
    pub(super) fn fixed(mut self, field: u32, value: u64) -> Self {
        self.key(field, EIGHT);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    /// Appends a field with a string.
    pub(super) fn text(self, field: u32, text: &str) -> Self {
        self.field(field, text.as_bytes())
    }

    /// Appends a field with an embedded message.
    pub(super) fn message(self, field: u32, message: &Message) -> Self {
        self.field(field, &message.bytes)
    }

    fn field(mut self, field: u32, bytes: &[u8]) -> Self {
        self.key(field, LENGTH);
        self.varint(bytes.len() as u64);
        self.bytes.extend(bytes);
        self
    }

    fn key(&mut self, field: u32, kind: u32) {
        self.varint(u64::from(field << 3 | kind));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_match_the_specification() {
        let inner = Message::default().number(1, 150);
        assert_eq!(inner.bytes(), [0x08, 0x96, 0x01]);
        let empty = Message::default;
        assert_eq!(empty().text(2, "testing").bytes(), b"\x12\x07testing");
        assert_eq!(empty().message(3, &inner).bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(empty().fixed(47, 1).bytes(), [0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(empty().number(1, u64::MAX).bytes().len(), 11);
    }
}
