//! Proves by counting that parsing takes linear time.

use crate::function::SdkFunction;
use crate::notation::FunctionCallParser;
use crate::notation::work::take;
use crate::parse::{Piece, ReplyEnd, ReplyParser};

/// The notations with readers or forms of their own. The others contain JSON.
const PARSERS: [FunctionCallParser; 7] = [
    FunctionCallParser::DefaultFunctionCallParser,
    FunctionCallParser::JsonStyleFunctionCallParser,
    FunctionCallParser::XmlFunctionCallParser,
    FunctionCallParser::GemmaFunctionCallParser,
    FunctionCallParser::MistralFunctionCallParser,
    FunctionCallParser::CodeFunctionCallParser,
    FunctionCallParser::FunctoolsFunctionCallParser,
];

const FUNCTIONS: [&str; 3] = ["f", "f-f", "9"];

/// The work of parsing a text inside and outside of a block, followed by its echo, in one piece and by the character.
fn work_of(text: &str) -> usize {
    take();
    let characters: Vec<_> = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect();
    for pieces in [&[text][..], &characters] {
        for parser in PARSERS {
            let (start, end) = parser.markers();
            for control in [start, end] {
                let mut reply = ReplyParser::new(Some(parser));
                for control in [control, end] {
                    reply.push(Piece::Control(control), &mut |_| ());
                    pieces.iter().for_each(|piece| reply.push(Piece::Text(piece), &mut |_| ()));
                }
                reply.finish(ReplyEnd::Ended, &mut |_| ());
            }
            let mut reply =
                ReplyParser::new(Some(parser)).offering(&FUNCTIONS.map(|name| SdkFunction::new(name, "", vec![])));
            pieces.iter().for_each(|piece| reply.push(Piece::Text(piece), &mut |_| ()));
            reply.finish(ReplyEnd::Ended, &mut |_| ());
        }
    }
    take()
}

/// Checks that twice the text takes about twice the work.
#[track_caller]
fn check(text: impl Fn(usize) -> String) {
    let (once, twice) = (work_of(&text(500)), work_of(&text(1000)));
    assert!(twice < once * 5 / 2 + 10_000, "{:?}: {once}, then {twice}", text(1));
}

#[test]
fn work_grows_with_the_text() {
    let parts = r#"[ ( { f( [f(a= {'a': ' " ''' \ < </ , 0 a . a. 1e - f() f(), [f()] [f( 'x' 'x', 'x'y, f(a='x'y),
        f(a='it's'), a=1, **{}, 1+ ', ',a= <think> </think> <tool_call> </tool_call>
        <tool_call>{"name":"f}</tool_call> <tool_call>{"name":"f"}</tool_call> {"name":"f"} {"name":
        <tool_call>'</tool_call>' ``` ```json <tools> <tools>{ <tools>{"name":"f","arguments":{}}
        <function= <function=f> </function> <parameter=a> <parameter= </parameter> <function=f><parameter=a>
        </parameter></function> <parameter=a>1</parameter> <parameter=a=b <parameter="a" \n {\n [f()], f-f( 9( a:`x, `x`
        call: call:f{ call:f{a:1} a:1, f[ARGS]{ [ARGS] f{}
        <code> <code>f() <code>f()</code> #it's functools functools[ functools[{"name":"f","arguments":{}}"#;
    for part in parts.split_whitespace() {
        for part in [part, &format!("{part} ")] {
            check(|n| part.repeat(n));
            check(|n| format!("[f(a={}", part.repeat(n)));
            check(|n| format!("[f(a='{}')]", part.repeat(n)));
            check(|n| format!("[f(a=['it's'y, {}])]", part.repeat(n)));
            check(|n| format!("[{{\"name\": \"f\", \"arguments\": {{\"a\": {}", part.repeat(n)));
            check(|n| format!("```json\n{{\"name\": \"f\", \"arguments\": {{}}}}{}", part.repeat(n)));
            check(|n| format!("{part}\n```\n").repeat(n));
        }
    }
}

/// The work of parsing a text in a block, in one piece.
fn work_in_block(parsers: &[FunctionCallParser], text: &str) -> usize {
    take();
    for parser in parsers.iter().copied() {
        let (start, end) = parser.markers();
        let mut reply = ReplyParser::new(Some(parser));
        reply.push(Piece::Control(start), &mut |_| ());
        reply.push(Piece::Text(text), &mut |_| ());
        reply.push(Piece::Control(end), &mut |_| ());
        reply.finish(ReplyEnd::Ended, &mut |_| ());
    }
    take()
}

#[test]
fn a_megabyte_of_hostile_text_takes_work_in_proportion() {
    const MEGABYTE: usize = (1 << 20) - 64; // more than the limit of a block would not be parsed
    for part in [
        "[",
        "(((",
        "{'a': ",
        "f(a='it's', ",
        "'x' ",
        "\"",
        "\\",
        "f(a=[",
        "<tool_call>",
        "{\"name\": ",
        "0x1, ",
        "<function=f>\n",
        "\n<parameter=a>",
        "</parameter>",
        "\n<parameter=b>\n1\n</parameter>",
        "call:f{a:",
        "a:{",
        "a:`b",
        "a:`b,",
        "a:```b``,",
    ] {
        let (parsers, opening) = match part {
            _ if part.contains("function") || part.contains("parameter") => {
                (&PARSERS[2..3], "<function=f>\n<parameter=a>")
            }
            _ if part.contains("a:") => (&PARSERS[3..4], "call:f{a:"),
            _ => (&PARSERS[..2], "[f(a='"),
        };
        let text = |n_bytes: usize| format!("{opening}{}", part.repeat(n_bytes / part.len()));
        let work = |n_bytes| work_in_block(parsers, &text(n_bytes));
        let (half, whole) = (work(MEGABYTE / 2), work(MEGABYTE));
        assert!(whole < half * 5 / 2, "{part:?}: {half}, then {whole}");
        assert!(whole < 200 * MEGABYTE, "{part:?}: {} for each byte", whole / MEGABYTE);
    }
}

#[test]
fn digits_of_another_base_are_limited() {
    check(|n| format!("[f(a=0x{})]", "f".repeat(20 * n)));
    check(|n| format!("[f(a=[{}])]", format!("0x{},", "f".repeat(100)).repeat(n / 50)));
}
