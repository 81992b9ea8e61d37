use super::*;

#[test]
fn files_are_equal_if_every_byte_is() {
    let path = |name| std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    let [one, other] = [path("one"), path("other")];
    let mut bytes = vec![7; 3 << 20];
    std::fs::write(&one, &bytes).unwrap();
    std::fs::write(&other, &bytes).unwrap();
    assert!(are_equal(&one, &other).unwrap());
    std::fs::write(&other, &bytes[1..]).unwrap();
    assert!(!are_equal(&one, &other).unwrap() && !are_equal(&other, &one).unwrap());
    *bytes.last_mut().unwrap() = 8;
    std::fs::write(&other, &bytes).unwrap();
    assert!(!are_equal(&one, &other).unwrap());
    [one, other].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}
