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

fn stated(text: &str) -> Statement {
    Statement::Figure(Figure::new(figure(text)))
}

fn grade(statement: &Statement, values: &[f64]) -> Grade {
    statement.grade(&runs(values), &[], None, &error(0.01))
}

/// Returns why the statement differs; panics if it has another grade.
#[track_caller]
fn why(grade: Grade) -> Why {
    match grade {
        Grade::Differs { why, .. } => why,
        other => panic!("{other}"),
    }
}

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
fn half_a_unit_of_the_last_digit_is_that_of_the_text() {
    for (text, half) in
        [("16.0", 0.05), ("8", 0.5), ("0.70", 0.005), ("7m18s", 0.5), ("8.9 - 9.3", 0.05)]
    {
        assert!((figure(text).half_unit() - half).abs() < 1e-12, "{text}");
    }
}

#[test]
fn a_figure_is_reproduced_within_the_widened_interval_and_differs_outside() {
    let statement = stated("10.0");
    assert_eq!(grade(&statement, &[9.9, 10.0, 10.1]), Grade::Reproduced);
    assert_eq!(grade(&statement, &[9.95, 9.93, 9.94]), Grade::Reproduced, "one hundredth is added");
    // 9.8 and a hundredth are 9.898; 10.0 may stand for 9.95.
    assert_eq!(why(grade(&statement, &[9.8, 9.7, 9.75])), Why::Outside);
    assert_eq!(why(grade(&stated("9.0"), &[9.9, 10.0, 10.1])), Why::Outside);
    let coarse = stated("10");
    assert_eq!(grade(&coarse, &[9.6, 9.5, 9.55]), Grade::Reproduced, "10 may stand for 9.5");
    assert_eq!(why(grade(&coarse, &[9.3, 9.2, 9.3])), Why::Outside);
    let range = stated("10.2 - 12.0");
    assert_eq!(grade(&range, &[10.1, 10.15, 10.2]), Grade::Reproduced);
    let edge = why(grade(&range, &[10.0, 10.03, 10.3]));
    assert_eq!(edge, Why::Outside, "one run is in the range, and the median is not");
    assert_eq!(why(grade(&range, &[10.0, 10.0, 10.0])), Why::Outside);
    let negative = stated("-8.88");
    assert_eq!(grade(&negative, &[-8.8, -8.9, -9.0]), Grade::Reproduced);
    assert_eq!(why(grade(&negative, &[8.8, 8.9, 9.0])), Why::Outside);
    let factor = grade(&statement, &[5.0, 5.0, 5.0]);
    assert_eq!(factor.to_string(), "differs: 0.50 times");
}

#[test]
fn what_spreads_too_far_is_too_noisy_only_if_the_figure_is_within() {
    let statement = stated("10.0");
    let wide = grade(&statement, &[9.0, 10.0, 11.0]);
    let Grade::TooNoisy(Noise::Wide { half }) = wide else { panic!("{wide}") };
    assert!((half - 0.11).abs() < 1e-9, "{half}");
    assert_eq!(why(grade(&statement, &[20.0, 25.0, 30.0])), Why::Outside, "clearly excluded");
    let large = statement.grade(&runs(&[10.0, 10.0, 10.0]), &[], None, &error(0.06));
    assert!(matches!(large, Grade::TooNoisy(_)), "a large error is no excuse: {large}");
}

#[test]
fn an_interval_of_the_median_leaves_out_the_ends_of_nine_runs() {
    let interval = |values: &[f64]| {
        let interval = runs(values).interval().unwrap();
        [interval.least, interval.most]
    };
    assert_eq!(interval(&[3.0, 1.0, 2.0]), [1.0, 3.0]);
    assert_eq!(interval(&[9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), [2.0, 8.0]);
    assert_eq!(interval(&[5.0, 1.0, 2.0, 3.0, 4.0]), [1.0, 5.0], "94 % have all five");
    assert!(runs(&[f64::NAN]).interval().is_none());
    // One run in nine that something disturbed excludes nothing and hides nothing.
    let mut values = vec![10.0; 8];
    values.push(20.0);
    assert_eq!(grade(&stated("10.0"), &values), Grade::Reproduced);
    assert_eq!(why(grade(&stated("20.0"), &values)), Why::Outside);
}

#[test]
fn void_runs_do_not_judge_and_fewer_than_three_do_not_either() {
    let statement = stated("10.0");
    let of = |runs: Runs| statement.grade(&runs, &[], None, &error(0.01));
    let mut samples = vec![Sample::new(10.0); 3];
    samples.push(Sample::new(20.0).voided(true));
    let all = Runs::new(samples.clone());
    assert_eq!(of(all.clone()), Grade::Reproduced);
    assert_eq!(all.samples().len(), 4, "void runs are shown");
    assert_eq!(all.median(), Some(10.0));
    samples.remove(0);
    assert_eq!(of(Runs::new(samples)), Grade::TooNoisy(Noise::Void { valid: 2 }));
    let none = of(Runs::new(vec![Sample::new(10.0).voided(true); 3]));
    assert_eq!(none.to_string(), "too noisy: valid runs: 0 of 3");
    assert_eq!(of(Runs::default()), Grade::NotMeasured);
    let shown = [Sample::new(10.0), Sample::new(10.0), Sample::new(f64::NAN)];
    assert_eq!(why(of(Runs::new(shown.to_vec()))), Why::NotShown);
}

#[test]
fn an_order_never_counts_the_other_way_nor_as_a_tie() {
    assert_eq!(grade(&Statement::Below, &[0.5, 0.51, 0.5]), Grade::Reproduced);
    assert_eq!(grade(&Statement::Below, &[0.3, 0.51, 0.7]), Grade::Reproduced, "wide, and below");
    assert_eq!(why(grade(&Statement::Below, &[1.5, 1.51, 1.5])), Why::OtherWay);
    assert_eq!(why(grade(&Statement::Below, &[0.995, 1.0, 0.99])), Why::NoOrder);
    let noisy = grade(&Statement::Below, &[0.8, 0.95, 1.1]);
    assert!(matches!(noisy, Grade::TooNoisy(_)), "{noisy}");
}

#[test]
fn a_bound_needs_the_interval_on_its_side_with_the_error_of_the_emulation() {
    let least = Statement::AtLeast(1095.0);
    assert_eq!(grade(&least, &[1110.0, 1120.0, 1115.0]), Grade::Reproduced);
    assert_eq!(grade(&least, &[1190.0, 1195.0, 1200.0]), Grade::Reproduced, "more is as well");
    assert_eq!(why(grade(&least, &[1100.0, 1110.0, 1105.0])), Why::NoOrder);
    assert_eq!(why(grade(&least, &[940.0, 945.0, 950.0])), Why::Less);
    assert_eq!(grade(&least, &[1200.0, 1350.0, 1500.0]), Grade::Reproduced);
    let most = Statement::AtMost(1.05);
    assert_eq!(grade(&most, &[1.02, 1.03, 1.02]), Grade::Reproduced);
    assert_eq!(why(grade(&most, &[1.2, 1.2, 1.2])), Why::More);
}

#[test]
fn a_curve_is_ahead_at_its_peak_only() {
    let ahead = |curve: [f64; 4]| {
        let curve: Vec<(usize, f64)> = curve.into_iter().enumerate().collect();
        grade(&Statement::Below, &[1.0 / lead(&curve, 1).unwrap(); 3])
    };
    assert_eq!(ahead([6.0, 7.2, 6.5, 3.0]), Grade::Reproduced);
    assert_eq!(why(ahead([7.1, 7.2, 7.15, 3.0])), Why::NoOrder, "of the lab's error");
    assert_eq!(why(ahead([7.2, 7.2, 7.2, 7.2])), Why::NoOrder);
    assert_eq!(why(ahead([6.0, 7.2, 8.0, 3.0])), Why::OtherWay);
    assert_eq!(lead(&[(0, 1.0)], 1), None);
    assert_eq!(lead(&[(1, 1.0)], 1), None, "one point is no curve");
}

#[test]
fn an_answer_must_be_yes_in_every_run() {
    assert_eq!(grade(&Statement::Answer, &[1.0, 1.0, 1.0]), Grade::Reproduced);
    let no = Runs::new(vec![Sample::new(1.0), Sample::none(), Sample::new(1.0)]);
    assert_eq!(why(Statement::Answer.grade(&no, &[], None, &error(0.0))), Why::NotShown);
    let few = grade(&Statement::Answer, &[1.0]);
    assert_eq!(few, Grade::TooNoisy(Noise::Void { valid: 1 }));
}

#[test]
fn a_condition_explains_only_with_a_source_and_what_is_not_so_without_it() {
    let statement = stated("20.0");
    let of = |bare: &[f64], with: &[(Condition, Runs)]| {
        statement.grade(&runs(bare), with, None, &error(0.01))
    };
    let bare = [8.0, 8.0, 8.1];
    let sourced = |name: &str| Condition::new(name, Some("a manual".to_owned()));
    let pipes = sourced("pipes of 4 KiB");
    let copies = sourced("slow copies");
    let with = [(pipes, runs(&[12.0, 12.0, 12.0])), (copies, runs(&[20.0, 20.1, 19.9]))];
    let explained = of(&bare, &with);
    assert_eq!(explained, Grade::Explained { by: "slow copies".to_owned() });
    assert_eq!(why(of(&bare, &with[..1])), Why::Outside);
    let guess = [(Condition::new("a guess", Some(" ".to_owned())), runs(&[20.0; 3]))];
    assert_eq!(why(of(&bare, &guess)), Why::Unsourced { condition: "a guess".to_owned() });
    let both = [guess[0].clone(), with[1].clone()];
    assert!(of(&bare, &both).holds());
    // What is so already needs no condition; what was not judged without it is not explained by it.
    assert_eq!(of(&[20.0; 3], &with), Grade::Reproduced);
    assert_eq!(of(&[8.0], &with), Grade::TooNoisy(Noise::Void { valid: 1 }));
}

#[test]
fn what_comes_out_with_fitted_constants_or_by_a_law_follows() {
    let statement = stated("20.0");
    let bare = runs(&[8.0; 3]);
    let with = |condition: Condition, value: f64| {
        statement.grade(&bare, &[(condition, runs(&[value; 3]))], None, &error(0.01))
    };
    let fitted = || Condition::fitted("stalls", vec!["a.row".to_owned()]);
    let grade = with(fitted(), 20.1);
    assert_eq!(grade.to_string(), "follows from stalls (a.row), +0.5 %");
    assert_eq!(why(with(fitted(), 20.5)), Why::Outside, "constants widen nothing");
    let law = || Condition::law("one after the other", vec!["a.rate".to_owned()]);
    assert!(with(law(), 20.5).holds(), "as much as predictions may be off");
    assert_eq!(why(with(law(), 20.8)), Why::Outside);
    // A constant that is always in the lab.
    let always = statement.grade(&runs(&[20.0; 3]), &[], Some("the disks (a.row)"), &error(0.01));
    assert!(matches!(always, Grade::Follows { off: Some(off), .. } if off == 0.0), "{always}");
    let never = statement.grade(&bare, &[], Some("the disks (a.row)"), &error(0.01));
    assert_eq!(why(never), Why::Outside);
}

#[test]
fn grades_are_told_in_words_and_survive_json() {
    let differs = |why: Why, factor| Grade::Differs { why, factor };
    for (grade, words) in [
        (Grade::Reproduced, "reproduced"),
        (Grade::Explained { by: "slow copies".to_owned() }, "explained by slow copies"),
        (Grade::TooNoisy(Noise::Wide { half: 0.071 }), "too noisy: half-width 7.1 %, above 5 %"),
        (differs(Why::OtherWay, Some(1.5)), "differs: the other way round, 1.50 times"),
        (differs(Why::Outside, Some(0.389)), "differs: 0.39 times"),
        (differs(Why::Outside, None), "differs: another figure"),
        (Grade::OtherHardware { why: "of Elan4".to_owned() }, "not compared: of Elan4"),
        (Grade::NotMeasured, "not measured"),
    ] {
        assert_eq!(grade.to_string(), words);
        let json = serde_json::to_value(&grade).unwrap();
        assert!(json["grade"].is_string(), "{json}");
        assert_eq!(serde_json::from_value::<Grade>(json).unwrap(), grade);
    }
}
