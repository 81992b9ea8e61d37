//! Parses key presses: characters, and escape sequences (ECMA-48, xterm).

/// A key press.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character, control characters included.
    Char(char),
    /// The Escape key, or the escape that a key with Alt sends first.
    Escape,
    /// The up arrow key.
    Up,
    /// The down arrow key.
    Down,
    /// The Page Up key.
    PageUp,
    /// The Page Down key.
    PageDown,
    /// The Home key.
    Home,
    /// The End key.
    End,
    /// Tab pressed with Shift.
    BackTab,
}

/// Ctrl-C, in the terminal mode in which it causes no signal.
pub const INTERRUPT: Key = Key::Char('\x03');

/// Removes all complete key presses from `bytes` and returns them; an incomplete one remains in
/// `bytes`. Unknown sequences are dropped.
pub fn take(bytes: &mut Vec<u8>) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = &bytes[..];
    while let Some((&first, behind)) = rest.split_first() {
        if first != 0x1b {
            // No supported key is outside of ASCII.
            keys.extend(first.is_ascii().then(|| Key::Char(char::from(first))));
            rest = behind;
            continue;
        }
        match behind.split_first() {
            Some((b'[' | b'O', sequence)) => {
                let Some(end) = sequence.iter().position(|byte| (0x40..0x7f).contains(byte)) else {
                    // Such a long sequence is invalid.
                    if sequence.len() > 16 {
                        rest = &[];
                    }
                    break;
                };
                keys.extend(of_sequence(&sequence[..=end]));
                rest = &sequence[end + 1..];
            }
            // Escape, or a key with Alt, which sends an escape before the key.
            _ => {
                keys.push(Key::Escape);
                rest = behind;
            }
        }
    }
    *bytes = rest.to_vec();
    keys
}

fn of_sequence(sequence: &[u8]) -> Option<Key> {
    match sequence {
        b"A" => Some(Key::Up),
        b"B" => Some(Key::Down),
        b"H" | b"1~" | b"7~" => Some(Key::Home),
        b"F" | b"4~" | b"8~" => Some(Key::End),
        b"Z" => Some(Key::BackTab),
        b"5~" => Some(Key::PageUp),
        b"6~" => Some(Key::PageDown),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> (Vec<Key>, Vec<u8>) {
        let mut bytes = bytes.to_vec();
        (take(&mut bytes), bytes)
    }

    #[test]
    fn keys_are_parsed_and_incomplete_ones_stay() {
        let (all, rest) = keys(b"q\x1b[A\x1bOB\x1b[5~\x1b[1;5C\xc3\xa4\t\x03\x1b[6");
        let wanted = [Key::Char('q'), Key::Up, Key::Down, Key::PageUp, Key::Char('\t'), INTERRUPT];
        assert_eq!((&all[..], &rest[..]), (&wanted[..], &b"\x1b[6"[..]));
        assert_eq!(keys(b"\x1b[6~"), (vec![Key::PageDown], vec![]));
        assert_eq!(keys(b"\x1b"), (vec![Key::Escape], vec![]));
        assert_eq!(keys(b"\x1b\x1bq"), (vec![Key::Escape, Key::Escape, Key::Char('q')], vec![]));
        assert_eq!(keys(&[b"\x1b[", &[b'1'; 100][..]].concat()), (vec![], vec![]));
    }
}
