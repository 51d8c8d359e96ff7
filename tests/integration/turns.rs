//! The order of a conversation's replies, and what each leaves in the history.

use std::time::Duration;

use causerie::{
    ChatMessage, ContextPolicy, Conversation, ErrorKind, FinishReason, GenerationOptions, LoadOptions, MessageResponse,
    ModelRunner, OnBusy, OnCancel, ResponseStream, Role, SdkFunction,
};

use crate::fixture;

fn runner() -> ModelRunner {
    ModelRunner::load(fixture("models/lfm2-f32.gguf")).unwrap()
}

fn options(max_tokens: usize) -> GenerationOptions {
    GenerationOptions { temperature: Some(0.0), max_tokens: Some(max_tokens), ..Default::default() }
}

fn ask(conversation: &Conversation, text: &str, options: GenerationOptions) -> ResponseStream {
    conversation.generate_response(ChatMessage::user(text), options)
}

fn finish(stream: ResponseStream) -> causerie::Completion {
    match stream.into_iter().last() {
        Some(Ok(MessageResponse::Complete(completion))) => *completion,
        other => panic!("the reply ends: {other:?}"),
    }
}

fn roles(conversation: &Conversation) -> Vec<Role> {
    conversation.history().iter().map(|message| message.role).collect()
}

/// Pulls once and drops the event.
fn pull(stream: &mut ResponseStream) {
    stream.iter().next().unwrap().unwrap();
}

#[test]
fn replies_wait_in_the_queue_if_that_is_enabled() {
    let runner = runner();
    let conversation = runner.create_conversation("");
    let mut first = ask(&conversation, "a", options(100));
    pull(&mut first);
    let queued = || GenerationOptions { on_busy: OnBusy::Queue, ..options(3) };
    let (second, third) = (ask(&conversation, "b", queued()), ask(&conversation, "c", queued()));
    // On threads of their own, because none of their events comes before the first reply has ended.
    let readers = [second, third].map(|mut stream| {
        std::thread::spawn(move || {
            pull(&mut stream);
            finish(stream)
        })
    });
    finish(first);
    for reader in readers {
        assert_eq!(reader.join().unwrap().stats.completion_tokens, 3);
    }
    let texts: Vec<String> = conversation.history().iter().step_by(2).map(ChatMessage::text).collect();
    assert_eq!(texts[0], "a");
    assert!(texts[1..] == ["b", "c"] || texts[1..] == ["c", "b"], "each is answered in its turn: {texts:?}");
    assert_eq!(roles(&conversation), [Role::User, Role::Assistant].repeat(3));
}

#[test]
fn a_new_message_replaces_the_replies_before_it() {
    let conversation = runner().create_conversation("");
    let replacing = || GenerationOptions { on_busy: OnBusy::Replace, ..options(3) };
    let mut first = ask(&conversation, "a", options(usize::MAX));
    pull(&mut first);
    let waiting = ask(&conversation, "b", GenerationOptions { on_busy: OnBusy::Queue, ..options(3) });
    let reader = std::thread::spawn(move || finish(waiting));
    // Nobody reads the first reply, and it ends all the same.
    assert_eq!(finish(ask(&conversation, "c", replacing())).stats.completion_tokens, 3);
    assert_eq!(finish(first).finish_reason, FinishReason::Interrupted);
    reader.join().unwrap();
    let texts: Vec<String> = conversation.history().iter().step_by(2).map(ChatMessage::text).collect();
    assert!(texts == ["a", "c"] || texts == ["a", "b", "c"] || texts == ["a", "c", "b"], "{texts:?}");
    assert!(conversation.history()[1].incomplete);
    assert_eq!(
        finish(ask(&conversation, "d", replacing())).finish_reason,
        FinishReason::MaxTokens,
        "nothing to replace"
    );
}

#[test]
fn the_history_can_be_edited_right_after_a_cancel() {
    let conversation = runner().create_conversation("");
    for is_dropped in [false, true].repeat(10) {
        let mut stream = ask(&conversation, "a", options(usize::MAX));
        pull(&mut stream);
        stream.cancel();
        let _unread = (!is_dropped).then_some(stream);
        conversation.truncate(0).unwrap();
    }
    assert!(conversation.history().is_empty());
}

#[test]
fn a_reply_cancelled_in_the_queue_leaves_nothing() {
    let conversation = runner().create_conversation("");
    let mut first = ask(&conversation, "a", options(usize::MAX));
    pull(&mut first);
    let second = ask(&conversation, "b", GenerationOptions { on_busy: OnBusy::Queue, ..options(3) });
    let cancel = second.cancel_handle();
    let reader = std::thread::spawn(move || finish(second));
    cancel.cancel();
    let completion = reader.join().unwrap();
    assert_eq!((completion.finish_reason, completion.stats.prompt_tokens), (FinishReason::Interrupted, 0));
    first.cancel();
    finish(first);
    assert_eq!(roles(&conversation), [Role::User, Role::Assistant]);
}

#[test]
fn a_cancelled_reply_leaves_what_the_options_say() {
    let runner = runner();
    for (on_cancel, expect) in [
        (OnCancel::KeepPartial, vec![Role::User, Role::Assistant]),
        (OnCancel::DropPartial, vec![Role::User]),
        (OnCancel::DropTurn, vec![]),
    ] {
        let conversation = runner.create_conversation("");
        let mut stream = ask(&conversation, "a", GenerationOptions { on_cancel, ..options(usize::MAX) });
        pull(&mut stream);
        stream.cancel();
        assert!(finish(stream).full_message.incomplete);
        assert_eq!(roles(&conversation), expect, "{on_cancel:?}");
    }
    // A reply that ends by itself stays, whatever the options say about cancelled ones.
    let conversation = runner.create_conversation("");
    finish(ask(&conversation, "a", GenerationOptions { on_cancel: OnCancel::DropTurn, ..options(3) }));
    assert_eq!(roles(&conversation), [Role::User, Role::Assistant]);
}

#[test]
fn a_timeout_is_a_cancel() {
    let conversation = runner().create_conversation("");
    let timeout = Some(Duration::ZERO);
    let completion = finish(ask(&conversation, "a", GenerationOptions { timeout, ..options(usize::MAX) }));
    assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    assert!(!conversation.is_generating());
}

#[test]
fn an_unloaded_model_leaves_its_conversations_readable() {
    let runner = runner();
    let conversation = runner.create_conversation("");
    let mut stream = ask(&conversation, "a", options(usize::MAX));
    pull(&mut stream);
    pollster::block_on(runner.unload());
    assert_eq!(finish(stream).finish_reason, FinishReason::Interrupted);
    assert_eq!(roles(&conversation), [Role::User, Role::Assistant]);
    let refused = ask(&conversation, "b", options(1)).into_iter().last().unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ModelUnloaded);
    assert_eq!(conversation.prompt_token_count().unwrap_err().kind(), ErrorKind::ModelUnloaded);
    pollster::block_on(runner.unload());
}

#[test]
fn a_history_is_edited_between_turns() {
    let conversation = runner().create_conversation("");
    for name in ["a", "b"] {
        conversation.register_function(SdkFunction::new(name, "", vec![])).unwrap();
    }
    finish(ask(&conversation, "first", options(2)));
    finish(ask(&conversation, "second", options(2)));
    let fork = conversation.fork();
    assert_eq!(conversation.remove_last_message().unwrap().map(|message| message.role), Some(Role::Assistant));
    conversation.truncate(3).unwrap();
    assert_eq!(roles(&conversation), [Role::System, Role::User, Role::Assistant]);
    assert_eq!(fork.history().len(), 5, "a fork is independent");
    assert!(conversation.unregister_function("a").unwrap() && !conversation.unregister_function("a").unwrap());
    assert_eq!(conversation.functions().len(), 1);
    conversation.unregister_function("b").unwrap();
    let empty = conversation.model_runner().create_conversation_from_history(vec![ChatMessage::system("")]);
    assert!(
        !empty.unregister_function("unknown").unwrap() && empty.history().len() == 1,
        "what is not there takes nothing"
    );
    assert_eq!(
        roles(&conversation),
        [Role::User, Role::Assistant],
        "without text and functions there is no system message"
    );
}

/// A system message and turns of a user and an assistant, about 4,096 tokens with 40 turns.
fn long(runner: &ModelRunner, n_turns: usize) -> Conversation {
    let turn = |i: usize| [ChatMessage::user(format!("Number {i}?")), ChatMessage::assistant("All of it. ".repeat(8))];
    let history = std::iter::once(ChatMessage::system("Be brief.")).chain((0..n_turns).flat_map(turn));
    runner.create_conversation_from_history(history.collect())
}

#[test]
fn a_history_that_outgrows_the_context_is_refused_or_slides() {
    let runner = runner();
    let conversation = long(&runner, 200);
    let n_before = conversation.history().len();
    let refused = ask(&conversation, "Now?", options(5)).into_iter().last().unwrap().unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::PromptExceedsContext { .. }));
    assert_eq!(conversation.history().len(), n_before);

    let slide =
        GenerationOptions { context_policy: ContextPolicy::Slide { shrink_tool_results: false }, ..options(500) };
    let completion = finish(ask(&conversation, "Now?", slide.clone()));
    let dropped = &completion.prompt.dropped_messages;
    assert_eq!(dropped.first(), Some(&1), "the system message stays, the oldest turn goes first");
    assert!(
        dropped.len().is_multiple_of(2) && dropped.iter().zip(1..).all(|(at, expect)| *at == expect),
        "{dropped:?}"
    );
    assert_ne!(completion.finish_reason, FinishReason::ExceedContext, "there was space for the reply");
    assert_eq!(conversation.history().len(), n_before + 2, "the history is whole");
    // With about a quarter of the context and one turn more, the prompt would not have left that space.
    let mut history = conversation.history();
    history.truncate(n_before + 1);
    history.drain(1..dropped.len() - 1);
    let larger = runner.create_conversation_from_history(history);
    assert!(runner.context_size() < larger.prompt_token_count().unwrap() + 500 + runner.context_size() / 3);

    let boundless = GenerationOptions { max_tokens: Some(usize::MAX), ..slide.clone() };
    let small = long(&runner, 3);
    assert!(small.plan_context(&boundless).unwrap().dropped_messages.is_empty(), "a short history keeps its turns");

    let plan = conversation.plan_context(&slide).unwrap();
    assert!(plan.tokens_after + 500 <= runner.context_size() && runner.context_size() < plan.tokens_before);
    assert_eq!(plan.tokens_before, conversation.prompt_token_count().unwrap());
}

/// A chat without end drops the same turns for a while, so that the cached state serves the next turns.
#[test]
fn a_sliding_history_is_seldom_prefilled_from_the_beginning() {
    let runner = runner();
    let conversation = long(&runner, 120);
    let options =
        || GenerationOptions { context_policy: ContextPolicy::Slide { shrink_tool_results: false }, ..options(8) };
    let mut cold = Vec::new();
    for i in 0..30 {
        let completion =
            finish(ask(&conversation, &format!("Number {i}? {}", "Tell all of it. ".repeat(4)), options()));
        assert!(!completion.prompt.dropped_messages.is_empty());
        if completion.stats.cached_prompt_tokens < completion.stats.prompt_tokens / 2 {
            cold.push((i, completion.prompt.dropped_messages.len()));
        }
    }
    assert!((1..=5).contains(&cold.len()), "{cold:?}");
}

#[test]
fn old_results_are_shortened_before_turns_are_dropped() {
    let runner = runner();
    let result = ChatMessage::tool("x y ".repeat(600));
    let mut history = vec![ChatMessage::user("a"), result.clone(), ChatMessage::user("b"), result];
    let slide = |shrink_tool_results| GenerationOptions {
        context_policy: ContextPolicy::Slide { shrink_tool_results },
        ..options(5)
    };
    history.push(ChatMessage::user("c"));
    history.push(ChatMessage::tool("z ".repeat(300)));
    let conversation = runner.create_conversation_from_history(history);
    let plan = conversation.plan_context(&slide(false)).unwrap();
    assert!(!plan.dropped_messages.is_empty() && plan.shrunk_messages.is_empty(), "{plan:?}");
    let plan = conversation.plan_context(&slide(true)).unwrap();
    assert_eq!((plan.dropped_messages, plan.shrunk_messages), (vec![], vec![1, 3]));
}

#[test]
fn results_that_do_not_match_the_calls_are_reported() {
    let history = r#"[{"role": "user", "content": "Time?"}, {"role": "assistant", "content": null,
        "tool_calls": [{"function": {"name": "a", "arguments": "{}"}}, {"function": {"name": "b", "arguments": "{}"}}]}]"#;
    let conversation = runner().create_conversation_from_history(causerie::messages_from_json(history).unwrap());
    conversation.append_to_history(ChatMessage::tool("1")).unwrap();
    let completion = finish(conversation.continue_response(options(1)));
    assert_eq!(completion.prompt.miscounted_results, [1]);
    conversation.truncate(3).unwrap();
    conversation.append_to_history(ChatMessage::tool("2")).unwrap();
    assert!(finish(conversation.continue_response(options(1))).prompt.miscounted_results.is_empty());
}

/// A reply that was dropped leaves its question; the next question follows it.
#[test]
fn a_question_without_an_answer_is_followed_by_another_with_any_template() {
    let template = std::fs::read_to_string(fixture("templates/mistral.jinja")).unwrap();
    let loading = LoadOptions { chat_template: Some(template), ..Default::default() };
    let runner = ModelRunner::load_with(fixture("models/lfm2-f32.gguf"), loading).unwrap();
    let conversation = runner.create_conversation("");
    let dropping = GenerationOptions { on_cancel: OnCancel::DropPartial, ..options(usize::MAX) };
    let mut stream = ask(&conversation, "First?", dropping);
    pull(&mut stream);
    drop(stream);
    finish(ask(&conversation, "Second?", options(2)));
    assert_eq!(roles(&conversation), [Role::User, Role::User, Role::Assistant]);
    let prompt = |messages: &[ChatMessage]| runner.render_prompt(messages, true).unwrap();
    let joined = prompt(&[ChatMessage::user("First?\n\nSecond?")]);
    assert_eq!(prompt(&conversation.history()[..2]), joined);
    // Two replies are joined, too.
    let replies = [ChatMessage::user("Hi"), ChatMessage::assistant("One."), ChatMessage::assistant("Two.")];
    let joined = [ChatMessage::user("Hi"), ChatMessage::assistant("One.\n\nTwo.")];
    assert_eq!(prompt(&replies), prompt(&joined));
}
