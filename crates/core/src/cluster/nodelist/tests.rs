use std::collections::BTreeMap;

use super::*;

/// Sources backed by tables.
#[derive(Default)]
pub(super) struct Table {
    files: BTreeMap<&'static str, &'static str>,
    groups: BTreeMap<String, String>,
    slurm: Option<&'static str>,
}

impl Sources for Table {
    fn text(&self, of: &Origin) -> Result<Option<String>, SourceError> {
        let missing = || SourceError::Unreadable("no such file".to_owned());
        match of {
            Origin::File(path) => {
                self.files.get(path.as_str()).map(|text| Some((*text).into())).ok_or_else(missing)
            }
            Origin::Group(name) => Ok(self.groups.get(name).cloned()),
            Origin::Given | Origin::Slurm => Ok(self.slurm.map(str::to_owned)),
        }
    }
}

pub(super) fn sources() -> Table {
    let groups = [
        ("gpu", "n[01-04]"),
        ("all", "@gpu,head"),
        ("loop", "n9,@pool"),
        ("pool", "@loop"),
        ("broken", "n1 n[3-"),
        ("none", ""),
    ];
    Table {
        files: BTreeMap::from([
            ("hosts", "# the rack\nn1 n2\n\tn3, # the spare\nn4\r\n"),
            ("bad", "n1\nn2 n3\n n[4-1]\n"),
            ("/tmp/a=b", "x"),
            ("empty", "\n# nobody\n"),
        ]),
        groups: groups.map(|(name, list)| (name.to_owned(), list.to_owned())).into(),
        slurm: Some("n[07-08],m1"),
    }
}

pub(super) fn names(expr: &str) -> Vec<String> {
    expand(expr, &sources()).unwrap_or_else(|error| panic!("{expr}: {error}"))
}

/// Returns the error and the carets of each expression.
fn faults_of(exprs: &[&str]) -> String {
    let fault = |expr: &&str| {
        let error = expand(expr, &sources()).expect_err(expr);
        format!(
            "{error}
{}
",
            error.place.caret()
        )
    };
    exprs.iter().map(fault).collect()
}

#[test]
fn expands_what_it_documents() {
    let table: &[(&str, &str)] = &[
        ("n1", "n1"),
        ("a,b", "a b"),
        ("b a", "b a"),
        (" a ,\n b ", "a b"),
        ("n[01-03,30]", "n01 n02 n03 n30"),
        ("n[8-12]", "n8 n9 n10 n11 n12"),
        ("[08-11]", "08 09 10 11"),
        ("n[099-101]", "n099 n100 n101"),
        ("n[98-101]", "n98 n99 n100 n101"),
        ("n[0-2]", "n0 n1 n2"),
        ("n[00-02]", "n00 n01 n02"),
        ("n[ 1 , 3 - 4 ]", "n1 n3 n4"),
        ("n[3,1]", "n3 n1"),
        ("n[1-9/2]", "n1 n3 n5 n7 n9"),
        ("n[1-8/3]", "n1 n4 n7"),
        ("n[01-10/4]", "n01 n05 n09"),
        ("r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"),
        ("n[1-2]-ib[0-1].x", "n1-ib0.x n1-ib1.x n2-ib0.x n2-ib1.x"),
        ("n[5]", "n5"),
        ("n[1-5]!n3", "n1 n2 n4 n5"),
        ("n[1-5]!n[3,5]", "n1 n2 n4"),
        ("n[1-3]!n2,n2", "n1 n3 n2"),
        ("n[1-3] !n2 !n9", "n1 n3"),
        ("n[1-3],!n2", "n1 n3"),
        ("^hosts", "n1 n2 n3 n4"),
        ("^/tmp/a=b!y", "x"),
        ("^hosts!n2,n9", "n1 n3 n4 n9"),
        ("@gpu", "n01 n02 n03 n04"),
        ("@all", "n01 n02 n03 n04 head"),
        ("@all!@gpu", "head"),
        ("@none,n1", "n1"),
        ("@slurm", "n07 n08 m1"),
        ("local[1-3]", "local1 local2 local3"),
        ("lab:n[1-2],lab:n[9-10]", "lab:n1 lab:n2 lab:n9 lab:n10"),
        ("root@n[1-2]", "root@n1 root@n2"),
        ("10.0.0.[1-2] fe80::1%eth0", "10.0.0.1 10.0.0.2 fe80::1%eth0"),
    ];
    for (expr, expected) in table {
        assert_eq!(names(expr).join(" "), *expected, "{expr}");
    }
}

#[test]
fn empty_lists_and_stray_separators_are_pointed_at() {
    let faults =
        faults_of(&["", "n[1-2]!n[1-2]", "^empty", "a,,b", "a,", ",a", "!a", "a!", "a!!b"]);
    insta::assert_snapshot!(faults, @r#"
    node list ``, column 1: there are no nodes in the list

    ^
    node list `n[1-2]!n[1-2]`, column 1: there are no nodes in the list
    n[1-2]!n[1-2]
    ^^^^^^^^^^^^^
    node list `^empty`, column 1: there are no nodes in the list
    ^empty
    ^^^^^^
    node list `a,,b`, column 3: a node name is missing before or after the comma
    a,,b
      ^
    node list `a,`, column 2: a node name is missing before or after the comma
    a,
     ^
    node list `,a`, column 1: a node name is missing before or after the comma
    ,a
    ^
    node list `!a`, column 1: `!` needs nodes before and after it: write `n[1-9]!n3`
    !a
    ^
    node list `a!`, column 2: `!` needs nodes before and after it: write `n[1-9]!n3`
    a!
     ^
    node list `a!!b`, column 3: `!` needs nodes before and after it: write `n[1-9]!n3`
    a!!b
      ^
    "#);
}

#[test]
fn characters_of_no_name_are_pointed_at() {
    let faults = faults_of(&[
        "n1,größe[1-2]",
        "n1,a/b",
        "a#b",
        "n{1..3}",
        "n1,-oProxyCommand=x",
        "root@-x",
        "..",
        "lab:",
        "a\u{1b}[2Jb",
    ]);
    insta::assert_snapshot!(faults, @r#"
    node list `n1,größe[1-2]`, column 6: 'ö' is not allowed in node names: use only letters, digits and . - _ : @ %
    n1,größe[1-2]
         ^
    node list `n1,a/b`, column 5: '/' is not allowed in node names: use only letters, digits and . - _ : @ %
    n1,a/b
        ^
    node list `a#b`, column 2: '#' is not allowed in node names: use only letters, digits and . - _ : @ %
    a#b
     ^
    node list `n{1..3}`, column 2: node lists have brackets for ranges, not braces: write n[1-3] for n{1..3}
    n{1..3}
     ^
    node list `n1,-oProxyCommand=x`, column 4: a node name must begin with a letter, a digit or `_`, not with '-'
    n1,-oProxyCommand=x
       ^
    node list `root@-x`, column 6: a node name must begin with a letter, a digit or `_`, not with '-'
    root@-x
         ^
    node list `..`, column 1: a node name must begin with a letter, a digit or `_`, not with '.'
    ..
    ^
    node list `lab:`, column 4: a node name cannot end with ':'
    lab:
       ^
    node list `a�[2Jb`, column 2: '\u{1b}' is not allowed in node names: use only letters, digits and . - _ : @ %
    a�[2Jb
     ^
    "#);
}

#[test]
fn bad_brackets_are_pointed_at() {
    let faults = faults_of(&[
        "n[1-3",
        "n1-3]",
        "n[1[2]]",
        "n[]",
        "n[1,,3]",
        "n[a-c]",
        "n[1-2-3]",
        "n[5/2]",
        "n[1-9/0]",
        "n[1-1234567890123456789]",
        "n[1-4],n[2, 9-1]",
        "n[001-10]",
        "n[1-010]",
    ]);
    insta::assert_snapshot!(faults, @r#"
    node list `n[1-3`, column 2: `]` is missing after this `[`
    n[1-3
     ^
    node list `n1-3]`, column 5: brackets cannot be nested, and `]` needs a `[` before it
    n1-3]
        ^
    node list `n[1[2]]`, column 4: brackets cannot be nested, and `]` needs a `[` before it
    n[1[2]]
       ^
    node list `n[]`, column 3: "" is not a range: write a number, `1-20` or `1-20/2`
    n[]
      ^
    node list `n[1,,3]`, column 5: "" is not a range: write a number, `1-20` or `1-20/2`
    n[1,,3]
        ^
    node list `n[a-c]`, column 3: "a-c" is not a range: write a number, `1-20` or `1-20/2`
    n[a-c]
      ^^^
    node list `n[1-2-3]`, column 3: "1-2-3" is not a range: write a number, `1-20` or `1-20/2`
    n[1-2-3]
      ^^^^^
    node list `n[5/2]`, column 3: "5/2" is not a range: write a number, `1-20` or `1-20/2`
    n[5/2]
      ^^^
    node list `n[1-9/0]`, column 3: the step must not be 0
    n[1-9/0]
      ^^^^^
    node list `n[1-1234567890123456789]`, column 3: the number has 19 digits: the maximum is 18
    n[1-1234567890123456789]
      ^^^^^^^^^^^^^^^^^^^^^
    node list `n[1-4],n[2, 9-1]`, column 13: the range 9-1 is reversed: write 1-9
    n[1-4],n[2, 9-1]
                ^^^
    node list `n[001-10]`, column 3: the ends of 001-10 have different widths: pad both to the same width
    n[001-10]
      ^^^^^^
    node list `n[1-010]`, column 3: the ends of 1-010 have different widths: pad both to the same width
    n[1-010]
      ^^^^^
    "#);
}

#[test]
fn nodes_that_are_named_twice_count_once() {
    assert_eq!(names("n3,n[1-5]"), ["n3", "n1", "n2", "n4", "n5"]);
    assert_eq!(names("a\na\nb\nb\na"), ["a", "b"]);
    assert_eq!(names("a,b,a!a"), ["b"]);
    assert_eq!(names("@gpu,@gpu"), names("@gpu"));
}

#[test]
fn addresses_are_in_brackets() {
    assert_eq!(names("[fd99::11],bob@[fe80::1%eth0]"), ["fd99::11", "bob@fe80::1%eth0"]);
    assert_eq!(names("[::1],[fd99::]"), ["0::1", "fd99::0"]);
    for wrong in ["n[fd99::11]", "[fd99::11]x", "[fd99::1g]", "[fd99::11][1-2]"] {
        assert!(expand(wrong, &sources()).is_err(), "{wrong}");
    }
}

#[test]
fn bad_sets_and_references_are_pointed_at() {
    let faults = faults_of(&[
        "n[1-1000001]",
        "r[1-1000]n[1-1000]p[1-1000000000000]",
        "^",
        "@,a",
        "n1,@gpus",
        "@gpu[1-2]",
        "n1,^nowhere",
        "@pool",
        "n7,@broken",
        "^bad",
    ]);
    insta::assert_snapshot!(faults, @r#"
    node list `n[1-1000001]`, column 1: the list has more than 1000000 names
    n[1-1000001]
    ^^^^^^^^^^^^
    node list `r[1-1000]n[1-1000]p[1-1000000000000]`, column 1: the list has more than 1000000 names
    r[1-1000]n[1-1000]p[1-1000000000000]
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    node list `^`, column 1: `^` must be followed by the path of a file
    ^
    ^
    node list `@,a`, column 1: `@` must be followed by the name of a group
    @,a
    ^
    node list `n1,@gpus`, column 4: no group is named gpus
    n1,@gpus
       ^^^^^
    node list `@gpu[1-2]`, column 5: '[' is not allowed in node names: use only letters, digits and . - _ : @ %
    @gpu[1-2]
        ^
    node list `n1,^nowhere`, column 4: cannot read ^nowhere: no such file
    n1,^nowhere
       ^^^^^^^^
    @loop `n9,@pool`, column 4: this group or file contains itself: @pool -> @loop -> @pool
    n9,@pool
       ^^^^^
    @broken `n1 n[3-`, column 5: `]` is missing after this `[`
    n1 n[3-
        ^
    ^bad, line 3, column 4: the range 4-1 is reversed: write 1-4
     n[4-1]
       ^^^
    "#);
}

#[test]
fn slurm_outside_of_an_allocation_says_so() {
    let error = expand("n1,@slurm", &NoSources).expect_err("no allocation");
    assert_eq!(error.problem, NodeListProblem::NoAllocation);
    assert_eq!((error.place.line, error.place.column, error.place.span.clone()), (1, 4, 3..9));
}

#[test]
fn a_fault_far_to_the_right_is_shown_in_a_window() {
    let names: Vec<String> = (1..=2000).map(|n| format!("node{n:04}")).collect();
    let error = expand(&format!("{},x[9-1],{}", names.join(","), names.join(",")), &NoSources)
        .expect_err("backwards");
    assert_eq!(error.place.column, 18_003);
    let caret = error.place.caret();
    let (shown, marks) = caret.split_once('\n').expect("two lines");
    assert_eq!(shown.chars().count(), 76);
    assert_eq!(&shown[marks.find('^').expect("a caret")..][..marks.matches('^').count()], "9-1");
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn names_too_long_and_references_too_deep_are_refused() {
    let long = "x".repeat(LONGEST_NAME);
    assert_eq!(names(&long).join(" "), long);
    let error = expand(&format!("{long}[1-9]"), &NoSources).expect_err("too long");
    assert_eq!(error.problem, NodeListProblem::LongName(LONGEST_NAME + 1));

    let mut deep = Table::default();
    for level in 0..10_000 {
        deep.groups.insert(format!("g{level}"), format!("@g{}", level + 1));
    }
    let error = expand("@g0", &deep).expect_err("too deep");
    assert_eq!(error.problem, NodeListProblem::TooDeep(32));
}

#[test]
fn groups_that_multiply_stay_bounded() {
    let mut bomb = Table::default();
    bomb.groups.insert("g0".into(), "n1!n1".into());
    for level in 1..=30 {
        bomb.groups.insert(format!("g{level}"), format!("@g{0} @g{0} @g{0}", level - 1));
    }
    let error = expand("@g30", &bomb).expect_err("3^30 references");
    assert_eq!(error.problem, NodeListProblem::TooMany);
}

#[test]
fn folds_what_it_documents() {
    let table: &[(&str, &str)] = &[
        ("n003 n017 n018 n019 n020", "n[003,017-020]"),
        ("n1", "n1"),
        ("n2 n1", "n[1-2]"),
        ("n1 n1 n1", "n1"),
        ("n9 n10 n8", "n[8-10]"),
        ("n08 n09 n10", "n[08-10]"),
        ("n99 n100 n098", "n[99,098,100]"),
        ("n1 n01 n001", "n[1,01,001]"),
        ("n1 n2 n01 n02 n10", "n[1-2,01-02,10]"),
        ("master n1 storage n2", "master,n[1-2],storage"),
        ("r1n01 r1n02 r2n01 r2n02", "r[1-2]n[01-02]"),
        ("r1n1 r1n2 r2n1 r2n2 r2n3", "r1n[1-2],r2n[1-3]"),
        ("r1n1 r2n2", "r1n1,r2n2"),
        ("n1-ib0 n2-ib0 n1 n2", "n[1-2],n[1-2]-ib0"),
        ("10.0.0.1 10.0.0.2 10.0.1.1 10.0.1.2", "10.0.[0-1].[1-2]"),
        ("lab:n1 lab:n2 lab:n3", "lab:n[1-3]"),
        ("1 2 3", "[1-3]"),
        ("n999999999999999999 n1000000000000000000", "n999999999999999999,n1000000000000000000"),
        ("", ""),
    ];
    for (names, folded) in table {
        let names: Vec<&str> = names.split_whitespace().collect();
        assert_eq!(fold(&names), *folded, "{names:?}");
    }
}
