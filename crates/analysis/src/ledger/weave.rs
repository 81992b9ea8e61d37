//! Converts a thread's spans to pieces that do not overlap. Spans overlap since bytes are received
//! and forwarded in turns, and since adjacent spans are merged when the ring is full.

use garland_core::trace::Stage;

/// A period of a thread at one stage, in nanoseconds of the head's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub begin: i64,
    pub end: i64,
    pub stage: Stage,
    pub lane: u16,
    pub peer: u16,
    pub bytes: f64,
}

/// A span with its times on the head's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strand {
    pub piece: Piece,
    /// The time spent in the span's stage, in nanoseconds.
    pub busy: i64,
    pub count: u32,
}

/// The maximum number of turns into which the time of one block is divided.
const TURNS: i64 = 16;

/// The approximate maximum number of turns into which the spans of a thread are divided.
const TURNS_MAX: i64 = 20_000;

/// The approximate maximum number of pieces of one node. Spans of a block overlap by twos and
/// threes and give far less; a node that says that thousands overlap must not fill the memory.
const PIECES_MAX: usize = 2_000_000;

/// Converts the strands of one thread to sorted pieces; its node has `of_node` strands in all.
/// Overlapping strands alternate in turns, and the busy time of each is spread evenly over its
/// length: sums are exact, and times are accurate to a turn.
pub(super) fn weave(mut strands: Vec<Strand>, of_node: usize) -> Vec<Piece> {
    strands.sort_by_key(|strand| (strand.piece.begin, strand.piece.stage));
    let first = strands.first().map_or(0, |strand| strand.piece.begin);
    let last = strands.iter().map(|strand| strand.piece.end).max().unwrap_or(first);
    let shortest = ((last - first) / TURNS_MAX).max(1);
    let each_max = PIECES_MAX / of_node.max(strands.len()).max(1);
    let mut pieces = Vec::with_capacity(strands.len());
    let mut rest = &strands[..];
    while !rest.is_empty() {
        let (region, others) = rest.split_at(region(rest));
        let of_one_block = region.len() > 1 && region.iter().all(|strand| strand.count == 1);
        match of_one_block.then(|| lay_ahead(region)).flatten() {
            Some((ahead, left)) => {
                pieces.extend(ahead);
                let shortest = shortest.max(shortest_turn(&left, each_max));
                lay(&left, shortest, &mut pieces);
            }
            None => {
                let shortest = shortest.max(shortest_turn(region, each_max));
                lay(region, shortest, &mut pieces);
            }
        }
        rest = others;
    }
    pieces
}

/// Returns the length in nanoseconds of turns that divide `strands` into `each_max` pieces each, on
/// average.
fn shortest_turn(strands: &[Strand], each_max: usize) -> i64 {
    let lengths = strands.iter().map(|strand| i128::from(strand.piece.end - strand.piece.begin));
    let pieces = (strands.len() * each_max.max(1)).max(1) as i128;
    i64::try_from(lengths.sum::<i128>() / pieces).unwrap_or(i64::MAX)
}

/// Returns the number of strands at the beginning of `strands` that overlap without a gap.
fn region(strands: &[Strand]) -> usize {
    let mut end = strands[0].piece.end;
    let mut many = 1;
    for strand in &strands[1..] {
        if strand.piece.begin >= end {
            break;
        }
        end = end.max(strand.piece.end);
        many += 1;
    }
    many
}

/// Lays out the time before the last of a block's strands starts. They are ordered by their starts,
/// since a thread waits for a block and then transfers it. Returns the pieces and the rest of the
/// strands, which overlap; `None` if a strand ends before its busy time is laid out.
fn lay_ahead(strands: &[Strand]) -> Option<(Vec<Piece>, Vec<Strand>)> {
    let last = strands.last()?.piece.begin;
    let mut left = strands.to_vec();
    let mut pieces = Vec::new();
    let mut at = strands[0].piece.begin;
    for next in strands.iter().map(|strand| strand.piece.begin) {
        let mut begun: Vec<&mut Strand> =
            left.iter_mut().take_while(|strand| strand.piece.begin < next).collect();
        // What ends before others go on comes before their rest: a short wait within a long one.
        begun.sort_by_key(|strand| strand.piece.end);
        for strand in begun {
            let ns = strand.busy.min(next.min(strand.piece.end) - at);
            if ns > 0 {
                let bytes = strand.piece.bytes * ns as f64 / strand.busy as f64;
                pieces.push(Piece { begin: at, end: at + ns, bytes, ..strand.piece });
                strand.busy -= ns;
                strand.piece.bytes -= bytes;
                at += ns;
            }
        }
        at = next;
    }
    left.retain(|strand| strand.piece.end > last || strand.busy > 0);
    left.iter_mut().for_each(|strand| strand.piece.begin = last);
    left.iter().all(|strand| strand.piece.end > last).then_some((pieces, left))
}

fn lay(strands: &[Strand], shortest: i64, pieces: &mut Vec<Piece>) {
    if let [Strand { piece, busy, .. }] = strands
        && *busy >= piece.end - piece.begin
    {
        pieces.extend((piece.end > piece.begin).then_some(*piece));
        return;
    }
    let begin = strands[0].piece.begin;
    let end = strands.iter().map(|strand| strand.piece.end).max().unwrap_or(begin);
    let of_block = |s: &Strand| (s.piece.end - s.piece.begin) / i64::from(s.count.max(1));
    let turn = strands.iter().map(of_block).filter(|&ns| ns > 0).min().unwrap_or(1) / TURNS;
    let turn = turn.max(shortest);
    let mut at = begin;
    let mut from = 0;
    while at < end {
        let until = (at + turn).min(end);
        // Skip leading strands that have ended.
        while from < strands.len() && strands[from].piece.end <= at {
            from += 1;
        }
        lay_turn(&strands[from..], at, until, pieces);
        at = until;
    }
}

/// Lays out one turn of every strand between two moments, in the order of their starts.
fn lay_turn(strands: &[Strand], begin: i64, end: i64, pieces: &mut Vec<Piece>) {
    let mut shares = Vec::new();
    for strand in strands.iter().take_while(|strand| strand.piece.begin < end) {
        let piece = &strand.piece;
        let inside = piece.end.min(end) - piece.begin.max(begin);
        if inside > 0 {
            let part = inside as f64 / (piece.end - piece.begin) as f64;
            shares.push((part * strand.busy as f64, part * piece.bytes, piece));
        }
    }
    let sum: f64 = shares.iter().map(|share| share.0).sum();
    // Busy times cannot exceed the period, except by rounding.
    let scale = ((end - begin) as f64 / sum.max(1.0)).min(1.0);
    let mut at = begin as f64;
    for (busy, bytes, piece) in shares {
        let next = at + busy * scale;
        let from = at.round() as i64;
        let until = next.round() as i64;
        if until > from || bytes > 0.0 {
            pieces.push(Piece { begin: from, end: until, bytes, ..*piece });
        }
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn strand(stage: Stage, begin: i64, end: i64, busy: i64, count: u32) -> Strand {
        let piece = Piece { begin, end, stage, lane: 0, peer: 1, bytes: 1000.0 };
        Strand { piece, busy, count }
    }

    fn weave_alone(strands: Vec<Strand>) -> Vec<Piece> {
        let of_node = strands.len();
        weave(strands, of_node)
    }

    #[test]
    fn a_node_that_says_that_thousands_overlap_fills_no_memory() {
        // One block so short that turns would be, too.
        let short = strand(Stage::Receive, 0, 1_000_000_000, 1000, u32::MAX);
        let long = (0..9000).map(|n| strand(Stage::Write, n, 1_000_000_000, 1000, 2));
        let strands: Vec<Strand> = std::iter::once(short).chain(long).collect();
        let in_one = weave_alone(strands.clone());
        assert!(in_one.len() < 2 * PIECES_MAX, "{}", in_one.len());
        // The same in many threads of a node.
        let of_threads = strands.chunks(3).map(|few| weave(few.to_vec(), strands.len()).len());
        let pieces: usize = of_threads.sum();
        assert!(pieces < 2 * PIECES_MAX, "{pieces}");
    }

    #[test]
    fn what_takes_turns_is_laid_in_turns() {
        let pieces = weave_alone(vec![
            strand(Stage::Read, 0, 100, 100, 1),
            strand(Stage::Receive, 1000, 2600, 400, 1),
            strand(Stage::Relay, 1000, 2600, 1200, 1),
        ]);
        assert_eq!(pieces.len(), 33);
        assert_eq!((pieces[1].begin, pieces[1].end, pieces[1].stage), (1000, 1025, Stage::Receive));
        assert_eq!((pieces[2].begin, pieces[2].end, pieces[2].stage), (1025, 1100, Stage::Relay));
    }

    #[test]
    fn what_was_waited_before_a_block_is_laid_before_it() {
        let pieces = weave_alone(vec![
            strand(Stage::WaitBuffer, 0, 10_000, 6000, 1),
            strand(Stage::WaitUpstream, 6000, 10_000, 2800, 1),
            strand(Stage::Receive, 8400, 10_000, 1200, 1),
        ]);
        let stages: Vec<_> = pieces.iter().map(|p| (p.stage, p.begin, p.end)).take(3).collect();
        let expected = [
            (Stage::WaitBuffer, 0, 6000),
            (Stage::WaitUpstream, 6000, 8400),
            (Stage::WaitUpstream, 8400, 8425),
        ];
        assert_eq!(stages, expected);
        assert!(pieces.iter().filter(|p| p.stage == Stage::Receive).count() == 16, "{pieces:?}");
    }

    #[test]
    fn a_short_wait_within_a_long_one_does_not_cut_that() {
        let pieces = weave_alone(vec![
            strand(Stage::WaitUpstream, 0, 9000, 8200, 1),
            strand(Stage::WaitBuffer, 1050, 1052, 2, 1),
            strand(Stage::Receive, 1054, 9000, 440, 1),
        ]);
        let stages: Vec<_> = pieces.iter().map(|p| (p.stage, p.begin, p.end)).take(3).collect();
        let expected = [
            (Stage::WaitUpstream, 0, 1050),
            (Stage::WaitBuffer, 1050, 1052),
            (Stage::WaitUpstream, 1052, 1054),
        ];
        assert_eq!(stages, expected);
    }

    proptest! {
        #[test]
        fn pieces_do_not_overlap_and_keep_their_sums(spans in proptest::collection::vec((0..50_000_i64, 1..20_000_i64, 1..40_u32), 1..30)) {
            let share = 1.0 / spans.len() as f64;
            let strands: Vec<Strand> = spans.iter().map(|&(begin, length, count)| {
                strand(Stage::Write, begin, begin + length, (length as f64 * share) as i64, count)
            }).collect();
            let busy = strands.iter().map(|s| s.busy).sum::<i64>();
            let bytes = 1000.0 * spans.len() as f64;
            let pieces = weave_alone(strands);
            prop_assert!(pieces.windows(2).all(|two| two[0].end <= two[1].begin));
            let laid: i64 = pieces.iter().map(|p| p.end - p.begin).sum();
            prop_assert!((laid - busy).abs() <= 2 + pieces.len() as i64, "{laid} of {busy}");
            prop_assert!((pieces.iter().map(|p| p.bytes).sum::<f64>() - bytes).abs() < 1.0);
        }
    }
}
