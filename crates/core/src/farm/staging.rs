//! Names of files in a job's own directory, and of outputs that are not complete.

use super::Text;

/// Returns `path` relative to the job's directory, so that it cannot lead out of that directory:
/// empty components and `.` are removed, and `..` becomes `_`.
pub fn path_inside(path: &Text) -> Text {
    let parts = path.bytes().split(|&byte| byte == b'/');
    let parts = parts.filter(|part| !matches!(*part, b"" | b"."));
    let parts: Vec<&[u8]> =
        parts.map(|part| if part == b".." { &b"_"[..] } else { part }).collect();
    Text(parts.join(&b'/'))
}

/// Returns the path of an output while its job runs: under its own name, since programs choose
/// file formats by it, in a hidden directory beside its place. `mark` is drawn for each try: where
/// others may create files, they could make a directory of a name that they foretell.
pub fn unfinished(path: &Text, job: u32, tries: u32, mark: u64) -> Text {
    let bytes = path.bytes();
    let at = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    let (directory, name) = bytes.split_at(at);
    let hidden = format!(".garland-{job}-{tries}-{mark:016x}/");
    Text([directory, hidden.as_bytes(), name].concat())
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
    fn an_incomplete_output_is_in_a_hidden_directory_beside_its_place() {
        let hidden = |path: &str, tries| unfinished(&path.into(), 7, tries, 0xab).to_string();
        assert_eq!(hidden("a/b.mp3", 2), "a/.garland-7-2-00000000000000ab/b.mp3");
        assert_eq!(hidden("b", 1), ".garland-7-1-00000000000000ab/b");
    }
}
