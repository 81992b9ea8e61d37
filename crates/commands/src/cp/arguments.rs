//! The arguments of `garland cp`, parsed and checked once. Nothing else reads them to make a copy.

use garland_core::units::bytes;
use garland_protocol::Cut;

use super::filters::excludes;
use super::options::{kind_of, refuse_without_effect};
use super::task::Task;
use crate::args::Cp;
use garland_copy::command_line::CommandLine;
use garland_copy::spec::{
    Comparison, CopyChecks, CopySpec, PlanOptions, RunOptions, SlowOptions, SourceSpec, Tuning,
};
use garland_terminal::failure::Failure;

/// Parses the arguments of `task`. Conflicts that depend on the nodes or on the type of a file are reported once
/// these are known.
///
/// # Errors
/// When an option has no effect on this kind of copy, or its value cannot be parsed.
pub fn parse(args: &Cp, task: &Task) -> Result<CopySpec, Failure> {
    refuse_without_effect(args, kind_of(args, task)?)?;
    if args.join.is_none() {
        refuse_missing_source(args)?;
    }
    Ok(CopySpec {
        source: source(args)?,
        plan: plan(args)?,
        slow: SlowOptions {
            action: args.on_slow,
            below: args.slow_below,
            stuck_after: args.stuck_after,
            dead_after: args.dead_after,
            min_ok: args.min_ok,
        },
        checks: CopyChecks {
            comparison: comparison(args),
            read_back: args.checks.read_back(),
            fsync: !args.no_fsync,
            forces_devices: args.force_device,
        },
        tuning: tuning(args)?,
        run: run_options(args),
    })
}

impl TryFrom<&Cp> for CopySpec {
    type Error = Failure;

    /// Parses and checks the arguments as [`parse`] does.
    fn try_from(args: &Cp) -> Result<Self, Failure> {
        parse(args, &Task::new(args)?)
    }
}

fn source(args: &Cp) -> Result<SourceSpec, Failure> {
    Ok(SourceSpec {
        paths: args.sources().to_vec(),
        is_tree: args.recursive,
        excludes: excludes(&args.filters)?,
        chosen_by: args.files_from.clone(),
        removes_others: args.delete,
        keeps_attributes: args.xattrs,
        keeps_time: args.preserve,
    })
}

fn plan(args: &Cp) -> Result<PlanOptions, Failure> {
    Ok(PlanOptions {
        order: args.order.clone(),
        shape: args.shape,
        rails: args.rails,
        block_size: args.block_size.as_deref().map(block_size).transpose()?,
        stripe_unit: args.stripe.as_deref().map(bytes::parse).transpose()?,
        is_shared: args.shared,
        faults: args.inject.clone(),
    })
}

fn block_size(text: &str) -> Result<u32, Failure> {
    let size = bytes::parse(text)?;
    Ok(u32::try_from(size).unwrap_or(u32::MAX))
}

fn comparison(args: &Cp) -> Comparison {
    if args.whole {
        Comparison::None
    } else if args.checksum {
        Comparison::Contents
    } else {
        Comparison::Status
    }
}

fn tuning(args: &Cp) -> Result<Tuning, Failure> {
    let cut = |text: &String| match bytes::parse(text)? {
        0 => Err(Failure::usage("--op-size must be at least 1")),
        size => Ok(Cut { size, overlap: args.op_overlap }),
    };
    Ok(Tuning {
        link_limit: args.checks.bwlimit,
        buffers: args.buffers,
        cut: args.op_size.as_ref().map(cut).transpose()?,
        congestion: args.congestion.clone(),
        packing: args.compress,
        is_sealed: !args.no_encrypt,
        is_traced: !args.no_trace,
    })
}

fn run_options(args: &Cp) -> RunOptions {
    let is_list_read = args.files_from.as_deref().is_some_and(|list| list.as_os_str() == "-");
    RunOptions {
        launch: args.launch.clone(),
        is_dry: args.dry_run,
        names_entries: args.verbose,
        plan_file: args.save_plan.clone(),
        is_quiet: args.quiet,
        reports_progress: args.progress.is_some(),
        keep_traces: args.keep_traces,
        command_line: CommandLine::new(&args.words, args.sources(), is_list_read),
    }
}

fn refuse_missing_source(args: &Cp) -> Result<(), Failure> {
    if args.sources().is_empty() {
        let only = args.destination().to_string_lossy();
        let message = format!("a copy needs a SOURCE and a DESTINATION, and only {only} was given");
        return Err(Failure::usage(message).hint("such as garland cp FILE 'n[01-20]:/path'"));
    }
    if args.sources().iter().any(|source| source.as_os_str().is_empty()) {
        return Err(Failure::usage("the path of a SOURCE is empty"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches};

    use super::*;

    /// A copy that no command line asks for has the options of one without options.
    #[test]
    fn a_spec_and_a_command_line_have_the_same_defaults() {
        let command = Cp::augment_args(Command::new("cp").no_binary_name(true));
        let matches = command.get_matches_from(["Cargo.toml", "n1:/x"]);
        let args = Cp::from_arg_matches(&matches).expect("a valid command line");
        let typed = CopySpec::try_from(&args).expect("a copy");
        let source = SourceSpec { paths: vec!["Cargo.toml".into()], ..SourceSpec::default() };
        let made = CopySpec::new(source, args.launch.clone());
        assert_eq!(format!("{typed:?}"), format!("{made:?}"));
    }
}
