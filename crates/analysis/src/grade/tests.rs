use super::*;

fn figure(text: &str) -> Published {
    text.parse().unwrap()
}

fn runs(values: &[f64]) -> Runs {
    Runs::new(values.iter().map(|value| Sample::new(*value)).collect())
}

fn error(share: f64) -> EmulationError {
    EmulationError::new(share, "a test").unwrap()
}

fn grade(statement: &Statement, values: &[f64]) -> Grade {
    statement.grade(&runs(values), &[], &error(0.01))
}

const OUTSIDE: Grade = Grade::Open(Why::Outside);

#[test]
fn figures_keep_their_digits_and_have_their_values() {
    for (text, least, most) in [
        ("0.70", 0.7, 0.7),
        ("-8.88", -8.88, -8.88),
        ("7m18s", 438.0, 438.0),
        ("0m31s", 31.0, 31.0),
        ("107m39s", 6459.0, 6459.0),
        ("8.9 - 9.3", 8.9, 9.3),
        ("9.7 - 9.3", 9.3, 9.7),
    ] {
        let parsed = figure(text);
        assert_eq!((parsed.least(), parsed.most()), (least, most), "{text}");
        assert_eq!(parsed.to_string(), text);
        let json = serde_json::to_string(&parsed).unwrap();
        assert_eq!(serde_json::from_str::<Published>(&json).unwrap(), parsed);
    }
    for text in ["", "x", "7m", "m18s", "1 -2", "1 - ", "nan", "inf", "-1m2s"] {
        assert!(text.parse::<Published>().is_err(), "{text}");
    }
}

#[test]
fn a_quotient_has_what_both_ranges_allow() {
    let ratio = figure("13.5 - 17.4").over(&figure("13.5 - 14.8")).unwrap();
    assert!(
        (ratio.least() - 13.5 / 14.8).abs() < 1e-9 && (ratio.most() - 17.4 / 13.5).abs() < 1e-9
    );
    assert_eq!(figure("-8.88").over(&figure("1")), None);
    assert_eq!(figure("337.4").over(&figure("453.3")).unwrap().to_string(), "0.744");
}

#[test]
fn an_error_has_a_reason() {
    assert!(EmulationError::new(0.01, " ").is_err());
    assert!(EmulationError::new(-0.01, "a test").is_err());
    assert!(serde_json::from_str::<EmulationError>(r#"{"error": 0.01}"#).is_err());
}

#[test]
fn a_figure_is_reproduced_within_the_widened_interval_and_open_outside() {
    let statement = Statement::Figure(figure("10.0"));
    assert_eq!(grade(&statement, &[9.9, 10.0, 10.1]), Grade::Reproduced);
    assert_eq!(grade(&statement, &[9.95, 9.93, 9.94]), Grade::Reproduced, "one hundredth is added");
    assert_eq!(grade(&statement, &[9.8, 9.7, 9.75]), OUTSIDE);
    assert_eq!(grade(&Statement::Figure(figure("9.0")), &[9.9, 10.0, 10.1]), OUTSIDE);
    let range = Statement::Figure(figure("10.2 - 12.0"));
    assert_eq!(grade(&range, &[10.1, 10.15, 10.2]), Grade::Reproduced);
    let edge = grade(&range, &[10.0, 10.05, 10.3]);
    assert_eq!(edge, OUTSIDE, "one run is in the range, and the median is not");
    assert_eq!(grade(&range, &[10.0, 10.0, 10.0]), OUTSIDE);
    let negative = Statement::Figure(figure("-8.88"));
    assert_eq!(grade(&negative, &[-8.8, -8.9, -9.0]), Grade::Reproduced);
    assert_eq!(grade(&negative, &[8.8, 8.9, 9.0]), OUTSIDE);
}

#[test]
fn what_spreads_too_far_is_open_even_if_the_figure_is_within() {
    let statement = Statement::Figure(figure("10.0"));
    let wide = grade(&statement, &[9.0, 10.0, 11.0]);
    assert!(
        matches!(wide, Grade::Open(Why::Wide { half }) if (half - 0.11).abs() < 1e-9),
        "{wide}"
    );
    let stated = statement.grade(&runs(&[10.0, 10.0, 10.0]), &[], &error(0.06));
    assert!(
        matches!(stated, Grade::Open(Why::Wide { .. })),
        "a large error is no excuse: {stated}"
    );
}

#[test]
fn void_runs_do_not_judge_and_fewer_than_three_do_not_either() {
    let statement = Statement::Figure(figure("10.0"));
    let mut samples = vec![Sample::new(10.0); 3];
    samples.push(Sample::new(20.0).voided(true));
    let all = Runs::new(samples.clone());
    assert_eq!(statement.grade(&all, &[], &error(0.01)), Grade::Reproduced);
    assert_eq!(all.samples().len(), 4, "void runs are shown");
    assert_eq!(all.median(), Some(10.0));
    samples.remove(0);
    let few = statement.grade(&Runs::new(samples), &[], &error(0.01));
    assert_eq!(few, Grade::Open(Why::Void { valid: 2 }));
    let none = Runs::new(vec![Sample::new(10.0).voided(true); 3]);
    let none = statement.grade(&none, &[], &error(0.01));
    assert_eq!(none.to_string(), "open: valid runs: 0 of 3");
    assert_eq!(statement.grade(&Runs::default(), &[], &error(0.01)), Grade::Open(Why::NotMeasured));
    let shown = [Sample::new(10.0), Sample::new(10.0), Sample::new(f64::NAN)];
    let shown = statement.grade(&Runs::new(shown.to_vec()), &[], &error(0.01));
    assert_eq!(shown, Grade::Open(Why::NotShown));
}

#[test]
fn an_order_counts_with_its_factor_and_never_the_other_way() {
    let statement = Statement::Order(figure("0.76"));
    assert_eq!(grade(&statement, &[0.755, 0.76, 0.77]), Grade::Reproduced);
    assert_eq!(grade(&statement, &[0.9, 0.9, 0.9]), Grade::Open(Why::OtherSize));
    assert_eq!(grade(&statement, &[1.06, 1.05, 1.07]), Grade::Open(Why::OtherWay));
    assert_eq!(grade(&statement, &[0.995, 1.0, 0.99]), Grade::Open(Why::NoOrder));
    // As near as it may be to the published quotient, but on the other side of 1.
    let near = Statement::Order(figure("0.99"));
    assert_eq!(grade(&near, &[1.02, 1.02, 1.02]), Grade::Open(Why::OtherWay));
    assert_eq!(grade(&near, &[0.995, 0.995, 0.995]), Grade::Open(Why::NoOrder));
    let none = Statement::Order(figure("0.9 - 1.3"));
    assert_eq!(grade(&none, &[1.1, 1.1, 1.1]), Grade::Open(Why::NoOrder));
    assert_eq!(grade(&Statement::Order(figure("1.34")), &[1.33, 1.34, 1.35]), Grade::Reproduced);
    assert_eq!(grade(&Statement::Below, &[0.5, 0.51, 0.5]), Grade::Reproduced);
    assert_eq!(grade(&Statement::Below, &[1.5, 1.51, 1.5]), Grade::Open(Why::OtherWay));
}

#[test]
fn a_bound_needs_every_run_above_it_with_the_error_of_the_emulation() {
    let statement = Statement::AtLeast(figure("1095"));
    assert_eq!(grade(&statement, &[1110.0, 1120.0, 1115.0]), Grade::Reproduced);
    assert_eq!(grade(&statement, &[1190.0, 1195.0, 1200.0]), Grade::Reproduced, "more is as well");
    assert_eq!(grade(&statement, &[1100.0, 1110.0, 1105.0]), Grade::Open(Why::NoOrder));
    assert_eq!(grade(&statement, &[940.0, 945.0, 950.0]), Grade::Open(Why::Less));
    assert!(matches!(grade(&statement, &[1100.0, 1300.0, 1500.0]), Grade::Open(Why::Wide { .. })));
}

#[test]
fn a_flat_curve_is_no_peak() {
    let of = |curve: [f64; 4]| {
        let curve: Vec<(usize, f64)> = curve.into_iter().enumerate().collect();
        grade(&Statement::Peak(1), &[lead(&curve, 1).unwrap(); 3])
    };
    assert_eq!(of([6.0, 7.2, 6.5, 3.0]), Grade::Reproduced);
    assert_eq!(of([7.1, 7.2, 7.15, 3.0]), Grade::Open(Why::Flat), "of the lab's error");
    assert_eq!(of([7.2, 7.2, 7.2, 7.2]), Grade::Open(Why::Flat));
    assert_eq!(of([6.0, 7.2, 8.0, 3.0]), Grade::Open(Why::PeakElsewhere));
    assert_eq!(lead(&[(0, 1.0)], 1), None);
    assert_eq!(lead(&[(1, 1.0)], 1), None, "one point is no curve");
}

#[test]
fn an_answer_must_be_yes_in_every_run() {
    assert_eq!(grade(&Statement::Answer, &[1.0, 1.0, 1.0]), Grade::Reproduced);
    let no = Runs::new(vec![Sample::new(1.0), Sample::none(), Sample::new(1.0)]);
    let no = Statement::Answer.grade(&no, &[], &error(0.0));
    assert_eq!(no, Grade::Open(Why::NotShown));
    assert_eq!(grade(&Statement::Answer, &[1.0]), Grade::Open(Why::Void { valid: 1 }));
}

#[test]
fn a_condition_explains_only_with_a_source_and_what_is_not_so_without_it() {
    let statement = Statement::Figure(figure("20.0"));
    let bare = runs(&[8.0, 8.0, 8.1]);
    let sourced = |name: &str| Condition::new(name, Some("a manual".to_owned()));
    let pipes = sourced("pipes of 4 KiB");
    let copies = sourced("slow copies");
    let with = [(pipes, runs(&[12.0, 12.0, 12.0])), (copies, runs(&[20.0, 20.1, 19.9]))];
    let explained = statement.grade(&bare, &with, &error(0.01));
    assert_eq!(explained, Grade::Explained { by: "slow copies".to_owned() });
    assert_eq!(statement.grade(&bare, &with[..1], &error(0.01)), OUTSIDE);
    let guess = [(Condition::new("a guess", Some(" ".to_owned())), runs(&[20.0; 3]))];
    let open = statement.grade(&bare, &guess, &error(0.01));
    assert_eq!(open, Grade::Open(Why::Unsourced { condition: "a guess".to_owned() }));
    let both = [guess[0].clone(), with[1].clone()];
    assert!(!statement.grade(&bare, &both, &error(0.01)).is_open());
    // What is so already needs no condition; what was not judged without it is not explained by it.
    assert_eq!(statement.grade(&runs(&[20.0; 3]), &with, &error(0.01)), Grade::Reproduced);
    let unjudged = statement.grade(&runs(&[8.0]), &with, &error(0.01));
    assert_eq!(unjudged, Grade::Open(Why::Void { valid: 1 }));
}

#[test]
fn grades_are_told_in_words_and_survive_json() {
    for (grade, words) in [
        (Grade::Reproduced, "reproduced"),
        (Grade::Explained { by: "slow copies".to_owned() }, "explained by slow copies"),
        (Grade::Open(Why::Wide { half: 0.071 }), "open: half-width 7.1 %, above 5 %"),
        (Grade::Open(Why::OtherWay), "open: the other way round"),
    ] {
        assert_eq!(grade.to_string(), words);
        let json = serde_json::to_value(&grade).unwrap();
        assert_eq!(json["grade"], words.split([' ', ':']).next().unwrap());
        assert_eq!(serde_json::from_value::<Grade>(json).unwrap(), grade);
    }
}
