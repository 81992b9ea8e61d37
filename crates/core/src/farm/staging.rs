//! What files are called in a job's own directory, and while they aren't whole.

use super::Text;

/// The path that a file has in a job's own directory: the same without what leads out of it. An absolute
/// path loses its first slash, and `..` becomes `_`.
pub fn path_inside(path: &Text) -> Text {
    let parts = path.bytes().split(|&byte| byte == b'/');
    let parts = parts.filter(|part| !matches!(*part, b"" | b"."));
    let parts: Vec<&[u8]> =
        parts.map(|part| if part == b".." { &b"_"[..] } else { part }).collect();
    Text(parts.join(&b'/'))
}

/// What an output is called while its job runs: hidden beside its place, with its own ending, since
/// programs go by that.
pub fn temporary(path: &Text, job: u32, tries: u32) -> Text {
    let bytes = path.bytes();
    let at = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    let (folder, name) = bytes.split_at(at);
    Text([folder, format!(".garland-{job}-{tries}-").as_bytes(), name].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_a_folder() {
        let inside = |path: &str| path_inside(&path.into()).to_string();
        assert_eq!(inside("a/b.wav"), "a/b.wav");
        assert_eq!(inside("/data//./x"), "data/x");
        assert_eq!(inside("../../x/..y"), "_/_/x/..y");
    }

    #[test]
    fn what_is_not_whole_lies_beside_its_place() {
        assert_eq!(temporary(&"a/b.mp3".into(), 7, 2).to_string(), "a/.garland-7-2-b.mp3");
        assert_eq!(temporary(&"b".into(), 7, 1).to_string(), ".garland-7-1-b");
    }
}
