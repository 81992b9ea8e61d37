use super::wrapped;

#[test]
fn texts_stand_below_texts_and_figures_stay_whole() {
    let time = "time    set-up 171.6 ms · first byte 21.9 ms · stream 88.0 ms\nok      n1\n";
    let told =
        "time    set-up 171.6 ms · first byte 21.9 ms ·\n        stream 88.0 ms\nok      n1\n";
    assert_eq!(wrapped(time, 50), told);
    assert_eq!(wrapped(time, 61), time);
    let note = "  local[1-2]: all on vda of one machine, and measured at the same time";
    assert_eq!(
        wrapped(note, 45),
        "  local[1-2]: all on vda of one machine, and\n    measured at the same time"
    );
    let remark = "  this machine was busy for 100 % of the time: use fewer nodes";
    assert_eq!(
        wrapped(remark, 46),
        "  this machine was busy for 100 % of the time:\n    use fewer nodes"
    );
    let question = "dolly-2005                How long does a file take?";
    let lines = format!("dolly-2005                How long does a\n{:26}file take?", "");
    assert_eq!(wrapped(question, 42), lines);
}

#[test]
fn tables_names_and_commands_stay_on_their_lines() {
    for line in [
        "run                 age     took     size  nodes      command and more",
        "copy    a directory with a long name/and a file with a long name in it",
        "plan    garland cp --order list --shape chain FILE 'NODES:PATH' and on",
        "ip -n _media link add br0 type bridge stp_state 0 forward_delay 0 more",
        "one_word_that_is_longer_than_the_terminal_is_wide_and_has_no_space_in_it",
    ] {
        assert_eq!(wrapped(line, 50), line);
    }
    let narrow = "note    a terminal may have any width at all";
    assert_eq!(wrapped(narrow, 10), narrow);
}

#[test]
fn wide_characters_count_as_two_columns() {
    let note = "note    模型模型模型模型模型模型 模型模型";
    assert_eq!(wrapped(note, 40), "note    模型模型模型模型模型模型\n        模型模型");
    assert_eq!(wrapped(note, 41), note);
    let marks = "note    a text with marks: e\u{301}e\u{301}e\u{301}e\u{301} e\u{301}";
    assert_eq!(wrapped(marks, 40), marks);
}
