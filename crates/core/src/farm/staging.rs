//! Names of files in a job's own directory, and of outputs that are not complete.

use super::Text;

/// The length in bytes that file systems allow for a name.
const NAME_MAX: usize = 255;

/// Returns `path` relative to the job's directory, so that it cannot lead out of that directory:
/// empty components and `.` are removed, and `..` becomes `_`.
pub fn path_inside(path: &Text) -> Text {
    let parts = path.bytes().split(|&byte| byte == b'/');
    let parts = parts.filter(|part| !matches!(*part, b"" | b"."));
    let parts: Vec<&[u8]> =
        parts.map(|part| if part == b".." { &b"_"[..] } else { part }).collect();
    Text(parts.join(&b'/'))
}

/// Returns the temporary path of an output while its job runs: a hidden file in the directory of
/// the output. It keeps the extension, since programs choose file formats by it; of a name that
/// would get longer than file systems allow, it has the end only. `mark` is drawn for each try:
/// where others may create files, they could make a link of a name that they foretell.
pub fn temporary(path: &Text, job: u32, tries: u32, mark: u64) -> Text {
    let bytes = path.bytes();
    let at = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    let (directory, name) = bytes.split_at(at);
    let start = format!(".garland-{job}-{tries}-{mark:016x}-");
    let end = &name[(start.len() + name.len()).saturating_sub(NAME_MAX).min(name.len())..];
    Text([directory, start.as_bytes(), end].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_directory() {
        let inside = |path: &str| path_inside(&path.into()).to_string();
        assert_eq!(inside("a/b.wav"), "a/b.wav");
        assert_eq!(inside("/data//./x"), "data/x");
        assert_eq!(inside("../../x/..y"), "_/_/x/..y");
    }

    #[test]
    fn an_incomplete_output_is_hidden_in_the_same_directory() {
        let hidden = |path: &str, tries| temporary(&path.into(), 7, tries, 0xab).to_string();
        assert_eq!(hidden("a/b.mp3", 2), "a/.garland-7-2-00000000000000ab-b.mp3");
        assert_eq!(hidden("b", 1), ".garland-7-1-00000000000000ab-b");
        let long = format!("a/{}.mp3", "x".repeat(251));
        let shown = hidden(&long, 2);
        assert!(shown.starts_with("a/.garland-7-2-00000000000000ab-xx"), "{shown}");
        assert!(shown.ends_with("xx.mp3"), "{shown}");
        assert_eq!(shown.len(), "a/".len() + NAME_MAX);
    }
}
