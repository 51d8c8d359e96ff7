//! What decoders of attention alone need not read again: their states are cut at any token. Prompts reach over several
//! pages of keys and values, and every reply is that of a run from the beginning.

use std::fs;

use causerie::{
    ChatMessage, Completion, Conversation, GenerationOptions, LoadOptions, MessageResponse, ModelRunner, Prompt,
    ResponseStream, SdkFunction, SdkFunctionCall,
};

use crate::fixture;

/// Mistral and Qwen2 have windows, SmolLM3 layers without positions, the Llamas scaled ones.
const FAMILIES: [&str; 7] = ["qwen2", "qwen3", "mistral", "llama3", "llama-linear", "smollm2", "smollm3"];
/// Tokens of a page of keys and values.
const PAGE: usize = 256;

/// A tiny model of a family, which is told that it was made for 4,096 tokens; its file says 128.
fn load(family: &str, options: LoadOptions) -> ModelRunner {
    let mut bytes = fs::read(fixture(&format!("models/{family}-f32.gguf"))).unwrap();
    let key = b".context_length";
    let value = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + size_of::<u32>();
    bytes[value..value + size_of::<u32>()].copy_from_slice(&4096u32.to_le_bytes());
    ModelRunner::load_from_bytes(bytes, options).unwrap()
}

fn runner(family: &str) -> ModelRunner {
    load(family, LoadOptions::default())
}

fn options() -> GenerationOptions {
    GenerationOptions { temperature: Some(0.0), max_tokens: Some(12), ..Default::default() }
}

#[track_caller]
fn finish(stream: ResponseStream) -> Completion {
    match stream.last() {
        Some(Ok(MessageResponse::Complete(completion))) => *completion,
        other => panic!("the reply ends: {other:?}"),
    }
}

fn ask(conversation: &Conversation, text: &str) -> Completion {
    finish(conversation.generate_response(ChatMessage::user(text), options()))
}

/// A text of some hundred tokens, unlike that of any other seed from its first word on.
fn long(seed: usize) -> String {
    (0..150).map(|i| format!("{} ", (seed + 1) * 1000 + i * i)).collect()
}

/// A system message with a function, a long question, and a call.
fn called() -> Vec<ChatMessage> {
    let mut reply = ChatMessage::assistant("");
    reply.function_calls = Some(vec![SdkFunctionCall { name: "get_time".to_owned(), ..Default::default() }]);
    let mut system = ChatMessage::system("You are brief.");
    system.functions.push(SdkFunction::new("get_time", "The time.", vec![]));
    vec![system, ChatMessage::user(long(0)), reply]
}

/// Lets a model read messages as they stand in a history; says how many tokens they are.
fn read(runner: &ModelRunner, history: &[ChatMessage]) -> usize {
    let tokens = runner.prompt_tokens(history, false).unwrap();
    let n_tokens = tokens.len();
    let one = GenerationOptions { max_tokens: Some(1), ..options() };
    finish(runner.complete(Prompt::Tokens(tokens), one));
    n_tokens
}

/// Tokens that the prompts of two histories have in common at their beginning.
fn in_common(runner: &ModelRunner, one: &[ChatMessage], other: &[ChatMessage]) -> usize {
    let tokens = |history| runner.prompt_tokens(history, true).unwrap();
    tokens(one).iter().zip(tokens(other)).take_while(|(one, other)| **one == *other).count()
}

#[test]
fn a_tool_turn_reads_only_the_new_message() {
    for family in FAMILIES {
        let (warm, cold) = (runner(family), runner(family));
        let known = read(&warm, &called());
        assert!(2 * PAGE < known, "{known} tokens are several pages");
        let [warm, cold] = [warm, cold].map(|runner| {
            let conversation = runner.create_conversation_from_history(called());
            finish(conversation.generate_response(ChatMessage::tool("It is noon."), options()))
        });
        assert_eq!((warm.stats.cached_prompt_tokens, cold.stats.cached_prompt_tokens), (known, 0), "{family}");
        assert_eq!(warm.full_message, cold.full_message, "{family}");
    }
}

#[test]
fn the_next_turn_reads_at_most_the_reply_and_the_new_message() {
    for family in FAMILIES {
        let (warm, cold) = (runner(family), runner(family));
        let conversation = warm.create_conversation_from_history(called());
        let first = finish(conversation.generate_response(ChatMessage::tool("It is noon."), options()));
        let again = cold.create_conversation_from_history(conversation.history());
        let (second, expect) = (ask(&conversation, "And now?"), ask(&again, "And now?"));
        assert!(first.stats.prompt_tokens <= second.stats.cached_prompt_tokens, "{family}: {:?}", second.stats);
        assert_eq!(second.full_message, expect.full_message, "{family}");
    }
}

#[test]
fn all_ways_of_going_on_after_a_result_read_the_same_prompt() {
    let runner = runner("qwen3");
    let result = || ChatMessage::tool(r#"{"time": "12:00"}"#);
    let with_result = || called().into_iter().chain([result()]).collect::<Vec<_>>();
    let conversation = |history| runner.create_conversation_from_history(history);
    let expect = finish(conversation(with_result()).continue_response(options()));

    let (sent, empty, appended) = (conversation(called()), conversation(with_result()), conversation(called()));
    appended.append_to_history(result()).unwrap();
    for stream in [
        sent.generate_response(result(), options()),
        empty.generate_response(ChatMessage::user(""), options()),
        appended.continue_response(options()),
    ] {
        let found = finish(stream);
        assert_eq!(found.full_message, expect.full_message);
        // All tokens but the last, which is always read for its logits, are those that were read before.
        assert_eq!(found.stats.prompt_tokens, expect.stats.prompt_tokens);
        assert_eq!(found.stats.cached_prompt_tokens, expect.stats.prompt_tokens - 1);
    }
    let prompt = |conversation: &Conversation| {
        let history = conversation.history();
        runner.render_prompt(&history[..history.len() - 1], true).unwrap()
    };
    let bytes = runner.render_prompt(&with_result(), true).unwrap();
    assert_eq!([&sent, &empty, &appended].map(prompt), [(); 3].map(|()| bytes.clone()));
    assert_eq!(empty.history().len(), 5);
}

#[test]
fn forks_that_part_within_a_page_go_their_own_ways() {
    for family in FAMILIES {
        let warm = runner(family);
        let conversation = warm.create_conversation_from_history(called());
        let forks = ["Where is it?", "Who is there?"].map(|question| (conversation.fork(), question));
        read(&warm, &called());
        // Both at once, step by step.
        let streams = forks.each_ref().map(|(fork, question)| {
            let mut stream = fork.generate_response(ChatMessage::user(*question), options());
            Iterator::next(&mut stream).unwrap().unwrap();
            stream
        });
        let found = streams.map(|stream| finish(stream).full_message);
        let expect = forks.each_ref().map(|(_, question)| {
            ask(&runner(family).create_conversation_from_history(called()), question).full_message
        });
        assert_eq!(found, expect, "{family}");
    }
}

#[test]
fn prompts_that_part_in_the_middle_of_a_message_share_what_came_before() {
    for family in FAMILIES {
        let (warm, cold) = (runner(family), runner(family));
        let ended = |end: &str| vec![ChatMessage::user(format!("{}{end}", long(1)))];
        let (one, other) = (ended("is all."), ended("and so on, for ever."));
        finish(warm.create_conversation_from_history(one.clone()).continue_response(options()));
        let shared = in_common(&warm, &one, &other);
        assert!(PAGE < shared && !shared.is_multiple_of(PAGE));
        let [warm, cold] = [warm, cold]
            .map(|runner| finish(runner.create_conversation_from_history(other.clone()).continue_response(options())));
        assert_eq!(warm.stats.cached_prompt_tokens, shared, "{family}");
        assert_eq!(warm.full_message, cold.full_message, "{family}");
    }
}

/// Tokens of the first question that are known when it is asked again after another one.
#[track_caller]
fn known_again(options: LoadOptions) -> usize {
    let (warm, cold) = (load("qwen3", options), runner("qwen3"));
    let expect = ask(&cold.create_conversation(""), &long(1)).full_message;
    let mut known = 0;
    for seed in [1, 2, 1] {
        let completion = ask(&warm.create_conversation(""), &long(seed));
        known = completion.stats.cached_prompt_tokens;
        assert!(seed != 1 || completion.full_message == expect);
    }
    known
}

#[test]
fn what_was_used_longest_ago_goes_first() {
    let runner = runner("qwen3");
    let [one, other] = [1, 2].map(|seed| vec![ChatMessage::user(long(seed))]);
    let (whole, beginning) = (read(&runner, &one), in_common(&runner, &one, &other));
    let entries = |cache_entries| LoadOptions { cache_entries, ..Default::default() };
    assert!(whole <= known_again(entries(2)));
    assert_eq!(known_again(entries(1)), beginning);
    assert_eq!(known_again(entries(0)), 0);

    // What is held are whole pages, of the keys and values of the prompt and of all tokens of the reply but the last.
    let [one, other] = [one, other].map(|history| {
        let n_tokens = runner.prompt_tokens(&history, true).unwrap().len() + options().max_tokens.unwrap() - 1;
        usize::try_from(runner.info().memory_estimate(n_tokens).key_values).unwrap()
    });
    let bytes = |cache_bytes| LoadOptions { cache_bytes, ..Default::default() };
    assert!(whole <= known_again(bytes(one + other)));
    assert_eq!(known_again(bytes(one + other - 1)), beginning);
    // The one used last is kept, however large.
    assert_eq!(known_again(bytes(1)), beginning);
    assert_eq!(known_again(bytes(0)), 0);
}

#[test]
fn a_session_of_several_pages_is_restored_with_its_cache() {
    for family in FAMILIES {
        let path = std::env::temp_dir().join(format!("causerie-{}-{family}.session", std::process::id()));
        let saved = runner(family).create_conversation_from_history(called());
        finish(saved.generate_response(ChatMessage::tool("It is noon."), options()));
        saved.save_session(&path, true).unwrap();
        let fresh = runner(family);
        let restored = fresh.restore_session(&path);
        fs::remove_file(&path).unwrap();
        let restored = restored.unwrap();
        assert_eq!(restored.history(), saved.history());
        let cold = runner(family).create_conversation_from_history(saved.history());
        let [found, expect] = [restored, cold].map(|conversation| ask(&conversation, "And now?"));
        assert_eq!((found.full_message, expect.stats.cached_prompt_tokens), (expect.full_message, 0), "{family}");
        assert!(2 * PAGE < found.stats.cached_prompt_tokens, "{family}: {:?}", found.stats);
    }
}

#[test]
fn a_prompt_of_one_token_less_than_the_context_is_answered_and_no_longer_one() {
    let options = || LoadOptions { context_size: Some(PAGE + 1), ..Default::default() };
    for family in FAMILIES {
        let runner = load(family, options());
        let last = |n_tokens| runner.complete(Prompt::Tokens(vec![90; n_tokens]), self::options()).last().unwrap();
        let Ok(MessageResponse::Complete(completion)) = last(PAGE) else { panic!("{family}: there is room for one") };
        assert_eq!(completion.stats.total_tokens(), PAGE + 1, "{family}");
        assert!(last(PAGE + 1).is_err() && last(PAGE + 2).is_err(), "{family}");
    }
}
