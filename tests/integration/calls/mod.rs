//! Function calls in replies: every fixture of `fixtures/calls`, cut in every way, and properties of arbitrary input.

mod fixture;
mod properties;

use std::collections::HashSet;

use causerie::{Parsed, RejectionReason, Repair, ReplyEnd};
use fixture::{Case, Piece, cases, events, expected, run};

/// Replies of up to this many characters are cut everywhere.
const SHORT: usize = 300;

/// Panics if a case gives other events than it expects; lists all such cases.
#[track_caller]
fn check_all(cases: &[Case], cut: impl Fn(&Case) -> Vec<(String, Vec<Piece>)>) {
    let failures: Vec<_> = cases
        .iter()
        .filter_map(|case| cut(case).iter().find_map(|(how, pieces)| check(case, pieces, how).err()))
        .collect();
    assert!(failures.is_empty(), "{} cases fail\n{}", failures.len(), failures.join("\n"));
}

fn check(case: &Case, pieces: &[Piece], how: &str) -> Result<(), String> {
    let (found, expected) = (events(case, pieces), expected(case));
    let is_met = found.len() == expected.len() && found.iter().zip(&expected).all(|(found, one)| meets(found, one));
    let shown = |events: &[serde_json::Value]| {
        events
            .iter()
            .map(|event| event.to_string().chars().take(600).chain(['\n']).collect::<String>())
            .collect::<String>()
    };
    let Case { file, name, .. } = case;
    let failure = || format!("{file}: {name}, {how}\nfound\n{}expected\n{}", shown(&found), shown(&expected));
    if is_met { Ok(()) } else { Err(failure()) }
}

/// Whether everything that is expected was found; calls may have more fields than expected.
fn meets(found: &serde_json::Value, expected: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Object};
    match (found, expected) {
        (Object(found), Object(expected)) => {
            expected.iter().all(|(key, value)| found.get(key).is_some_and(|found| meets(found, value)))
        }
        (Array(found), Array(expected)) => {
            found.len() == expected.len() && expected.iter().zip(found).all(|(value, found)| meets(found, value))
        }
        _ => found == expected,
    }
}

#[test]
fn every_fixture_gives_what_it_claims() {
    check_all(&cases(), |case| vec![("as written".into(), case.pieces.clone())]);
}

#[test]
fn a_reply_may_arrive_character_by_character() {
    let by_character = |case: &Case| case.pieces.iter().flat_map(Piece::characters).collect();
    check_all(&cases(), |case| vec![("by character".into(), by_character(case))]);
}

#[test]
fn a_reply_may_be_cut_anywhere() {
    check_all(&cases(), |case| {
        let whole = Piece::joined(&case.pieces);
        let mut ways = vec![("in one piece".to_owned(), whole.clone())];
        for (at, piece) in whole.iter().enumerate() {
            for cut in piece.cuts(SHORT) {
                let (left, right) = piece.cut(cut);
                let pieces = [&whole[..at], &[left, right], &whole[at + 1..]].concat();
                ways.push((format!("cut at byte {cut} of piece {at}"), pieces));
            }
        }
        ways
    });
}

#[test]
fn a_reply_cut_off_anywhere_reports_no_further_calls() {
    let names = |events: Vec<Parsed>| -> Vec<String> {
        let calls =
            events.into_iter().filter_map(|event| if let Parsed::Calls(calls) = event { Some(calls) } else { None });
        calls.flatten().map(|call| call.name).collect()
    };
    for case in cases() {
        let pieces: Vec<_> = case.pieces.iter().flat_map(Piece::characters).take(SHORT).collect();
        let whole = names(run(case.parser(), &pieces, ReplyEnd::Interrupted));
        for end in 0..pieces.len() {
            let broken_off = names(run(case.parser(), &pieces[..end], ReplyEnd::Interrupted));
            assert!(whole.starts_with(&broken_off), "{}: {}, cut off at {end}", case.file, case.name);
            run(case.parser(), &pieces[..end], ReplyEnd::Ended);
        }
    }
}

#[test]
fn every_reason_and_every_repair_is_reached() {
    let text: Vec<_> = cases().iter().flat_map(expected).map(|event| event.to_string()).collect();
    let reached = |code: &str| text.iter().any(|event| event.contains(&format!("\"{code}\"")));
    let reasons = RejectionReason::ALL.iter().map(|reason| reason.code());
    let repairs = Repair::ALL.iter().map(|repair| repair.code());
    let missing: HashSet<_> = reasons.chain(repairs).filter(|code| !reached(code)).collect();
    assert!(missing.is_empty(), "no fixture reaches {missing:?}");
}

#[test]
fn a_small_stack_is_enough() {
    let whole = |case: &Case| vec![("on a stack of 512 KiB".into(), case.pieces.clone())];
    let deep = move || check_all(&cases(), whole);
    std::thread::Builder::new().stack_size(512 << 10).spawn(deep).unwrap().join().unwrap();
}
