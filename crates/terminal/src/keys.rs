//! Keys, as terminals code them: characters, and sequences that begin with an escape (ECMA-48, xterm).

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character, control characters included.
    Char(char),
    /// Escape alone.
    Escape,
    /// The arrow up.
    Up,
    /// The arrow down.
    Down,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Tab backwards.
    BackTab,
}

/// Ctrl-C, where the terminal doesn't make a signal of it.
pub const INTERRUPT: Key = Key::Char('\x03');

/// Takes the keys out of what has come; the beginning of one that hasn't come whole is left. What means
/// nothing is passed over.
pub fn take(bytes: &mut Vec<u8>) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = &bytes[..];
    while let Some((&first, behind)) = rest.split_first() {
        if first != 0x1b {
            // No key that means something is outside ASCII.
            keys.extend(first.is_ascii().then(|| Key::Char(char::from(first))));
            rest = behind;
            continue;
        }
        match behind.split_first() {
            Some((b'[' | b'O', sequence)) => {
                let Some(end) = sequence.iter().position(|byte| (0x40..0x7f).contains(byte)) else {
                    // What is so long is none.
                    if sequence.len() > 16 {
                        rest = &[];
                    }
                    break;
                };
                keys.extend(of_sequence(&sequence[..=end]));
                rest = &sequence[end + 1..];
            }
            // A key with Alt looks the same as Escape and that key.
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
    fn keys_are_told_apart_and_half_of_one_waits_for_the_rest() {
        let (all, rest) = keys(b"q\x1b[A\x1bOB\x1b[5~\x1b[1;5C\xc3\xa4\t\x03\x1b[6");
        let wanted = [Key::Char('q'), Key::Up, Key::Down, Key::PageUp, Key::Char('\t'), INTERRUPT];
        assert_eq!((&all[..], &rest[..]), (&wanted[..], &b"\x1b[6"[..]));
        assert_eq!(keys(b"\x1b[6~"), (vec![Key::PageDown], vec![]));
        assert_eq!(keys(b"\x1b"), (vec![Key::Escape], vec![]));
        assert_eq!(keys(b"\x1b\x1bq"), (vec![Key::Escape, Key::Escape, Key::Char('q')], vec![]));
        assert_eq!(keys(&[b"\x1b[", &[b'1'; 100][..]].concat()), (vec![], vec![]));
    }
}
