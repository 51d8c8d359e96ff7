//! Replies are the same with and without forced tokens and draft tokens in one step with the token before them: alone and
//! together with others, with constrained and unconstrained calls, greedy and seeded.

use std::thread;

use causerie::{
    ChatMessage, Completion, Conversation, GenerationOptions, LoadOptions, MessageResponse, ModelRunner,
    ToolCallConstraint, functions_from_json, fuzzing,
};

use crate::repository;

const QUESTIONS: [&str; 4] = [
    "Set a timer for 12 minutes for the pasta with tomato sauce",
    "Write down that the blue bicycle stands in the garden of my brother",
    "Check the weather in Oslo and set a timer for 3 hours for the long way home",
    "Who are you?",
];

fn runner(looks_ahead: bool) -> ModelRunner {
    let settings = fuzzing::EngineSettings { looks_ahead, ..Default::default() };
    fuzzing::load_with(repository("models/demo.gguf"), LoadOptions::default(), settings).unwrap()
}

fn chat(runner: &ModelRunner) -> Conversation {
    let conversation = runner.create_conversation("You are causerie, a small assistant on this device.");
    let functions = std::fs::read_to_string(repository("server/src/chat/functions.json")).unwrap();
    conversation.register_functions(functions_from_json(&functions).unwrap()).unwrap();
    conversation
}

/// Every question, greedy and seeded, with and without a constraint.
fn cases() -> Vec<(&'static str, GenerationOptions)> {
    let mut cases = Vec::new();
    for question in QUESTIONS {
        for (tool_call_constraint, temperature) in [
            (ToolCallConstraint::Off, 0.0),
            (ToolCallConstraint::Typed, 0.0),
            (ToolCallConstraint::Off, 1.0),
            (ToolCallConstraint::Typed, 1.0),
        ] {
            let temperature = Some(temperature);
            let (seed, max_tokens) = (Some(cases.len() as u64), Some(120));
            let options =
                GenerationOptions { tool_call_constraint, temperature, seed, max_tokens, ..Default::default() };
            cases.push((question, options));
        }
    }
    cases
}

/// A reply, and the reply to a result, or to another question if no function was called.
fn replies(runner: &ModelRunner, (question, options): (&str, GenerationOptions)) -> [Completion; 2] {
    let conversation = chat(runner);
    let reply = |message| match conversation.generate_response(message, options.clone()).into_iter().last() {
        Some(Ok(MessageResponse::Complete(completion))) => *completion,
        other => panic!("{other:?}"),
    };
    let first = reply(ChatMessage::user(question));
    let next = match first.full_message.function_calls {
        Some(_) => ChatMessage::tool(r#"{"saved": "the blue bicycle stands in the garden"}"#),
        None => ChatMessage::user(QUESTIONS[0]),
    };
    [first, reply(next)]
}

#[test]
fn replies_do_not_depend_on_draft_tokens_alone_or_together_with_others() {
    let (drafting, plain) = (runner(true), runner(false));
    let expect: Vec<_> = cases().into_iter().map(|case| replies(&plain, case)).collect();
    let alone: Vec<_> = cases().into_iter().map(|case| replies(&drafting, case)).collect();
    let together: Vec<_> = thread::scope(|scope| {
        let begun: Vec<_> = cases().into_iter().map(|case| scope.spawn(|| replies(&drafting, case))).collect();
        begun.into_iter().map(|reply| reply.join().unwrap()).collect()
    });
    let mut n_accepted = 0;
    for (case, expect) in expect.iter().flatten().enumerate() {
        assert_eq!((expect.stats.drafted_tokens, expect.stats.accepted_draft_tokens), (0, 0));
        for reply in [&alone, &together].map(|replies| &replies[case / 2][case % 2]) {
            assert_eq!(reply.full_message, expect.full_message, "reply {case}");
            assert_eq!(reply.finish_reason, expect.finish_reason, "reply {case}");
            assert_eq!(reply.stats.completion_tokens, expect.stats.completion_tokens, "reply {case}");
            assert_eq!(reply.stats.forced_tokens, expect.stats.forced_tokens, "reply {case}");
            assert!(reply.stats.accepted_draft_tokens <= reply.stats.drafted_tokens, "reply {case}");
            n_accepted += reply.stats.accepted_draft_tokens;
        }
    }
    assert!(50 < n_accepted, "{n_accepted} draft tokens were accepted, too few for a test");
}
