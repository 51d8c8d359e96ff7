//! The prefix cache of attention-only models, whose states can be cut at any token. Prompts have several pages of keys and
//! values, and every reply equals that of a run without cache.

use std::fs;

use causerie::{
    ChatMessage, Completion, Conversation, GenerationOptions, LoadOptions, MessageResponse, ModelRunner, Prompt,
    ResponseStream, SdkFunction, SdkFunctionCall,
    fuzzing::{self, EngineSettings},
};

use crate::fixture;

/// Mistral and Qwen2 have sliding windows, SmolLM3 has layers without RoPE, and the Llamas have RoPE scaling.
const FAMILIES: [&str; 7] = ["qwen2", "qwen3", "mistral", "llama3", "llama-linear", "smollm2", "smollm3"];
/// Tokens of a page of keys and values.
const PAGE: usize = 256;

/// A tiny model of a family with a context of 4,096 tokens; its file states 128.
fn load(family: &str, options: LoadOptions, settings: EngineSettings) -> ModelRunner {
    let mut bytes = fs::read(fixture(&format!("models/{family}-f32.gguf"))).unwrap();
    let key = b".context_length";
    let value = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + size_of::<u32>();
    bytes[value..value + size_of::<u32>()].copy_from_slice(&4096u32.to_le_bytes());
    fuzzing::load_from_bytes(bytes, options, settings).unwrap()
}

fn runner(family: &str) -> ModelRunner {
    load(family, LoadOptions::default(), EngineSettings::default())
}

fn options() -> GenerationOptions {
    GenerationOptions { temperature: Some(0.0), max_tokens: Some(12), ..Default::default() }
}

#[track_caller]
fn finish(stream: ResponseStream) -> Completion {
    match stream.into_iter().last() {
        Some(Ok(MessageResponse::Complete(completion))) => *completion,
        other => panic!("the reply ends: {other:?}"),
    }
}

fn ask(conversation: &Conversation, text: &str) -> Completion {
    finish(conversation.generate_response(ChatMessage::user(text), options()))
}

/// A text of some hundred tokens, which differs from that of any other seed from its first word on.
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

/// Prefills a history. Returns its number of tokens.
fn prefill(runner: &ModelRunner, history: &[ChatMessage]) -> usize {
    let tokens = runner.prompt_tokens(history, false).unwrap();
    let n_tokens = tokens.len();
    let one = GenerationOptions { max_tokens: Some(1), ..options() };
    finish(runner.complete(Prompt::Tokens(tokens), one));
    n_tokens
}

/// The number of tokens in the common prefix of two histories' prompts.
fn common_prefix(runner: &ModelRunner, one: &[ChatMessage], other: &[ChatMessage]) -> usize {
    let tokens = |history| runner.prompt_tokens(history, true).unwrap();
    tokens(one).iter().zip(tokens(other)).take_while(|(one, other)| **one == *other).count()
}

#[test]
fn a_tool_turn_prefills_only_the_new_message() {
    for family in FAMILIES {
        let (warm, cold) = (runner(family), runner(family));
        let known = prefill(&warm, &called());
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
fn the_next_turn_prefills_at_most_the_reply_and_the_new_message() {
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
fn all_ways_to_continue_after_a_result_have_the_same_prompt() {
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
        // All tokens are cached, except the last, which is always computed for its logits.
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
fn forks_that_diverge_within_a_page_are_independent() {
    for family in FAMILIES {
        let warm = runner(family);
        let conversation = warm.create_conversation_from_history(called());
        let forks = ["Where is it?", "Who is there?"].map(|question| (conversation.fork(), question));
        prefill(&warm, &called());
        // Both at the same time, step by step.
        let streams = forks.each_ref().map(|(fork, question)| {
            let mut stream = fork.generate_response(ChatMessage::user(*question), options());
            stream.iter().next().unwrap().unwrap();
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
fn prompts_that_diverge_in_the_middle_of_a_message_share_the_common_prefix() {
    for family in FAMILIES {
        let (warm, cold) = (runner(family), runner(family));
        let ended = |end: &str| vec![ChatMessage::user(format!("{}{end}", long(1)))];
        let (one, other) = (ended("is all."), ended("and so on, for ever."));
        finish(warm.create_conversation_from_history(one.clone()).continue_response(options()));
        let shared = common_prefix(&warm, &one, &other);
        assert!(PAGE < shared && !shared.is_multiple_of(PAGE));
        let [warm, cold] = [warm, cold]
            .map(|runner| finish(runner.create_conversation_from_history(other.clone()).continue_response(options())));
        assert_eq!(warm.stats.cached_prompt_tokens, shared, "{family}");
        assert_eq!(warm.full_message, cold.full_message, "{family}");
    }
}

/// Cached tokens of the first question when it is asked again after another one.
#[track_caller]
fn cached_again(cache_bytes: u64, cache_entries: usize) -> usize {
    let options = LoadOptions { cache_bytes, ..Default::default() };
    let settings = EngineSettings { cache_entries, ..Default::default() };
    let (warm, cold) = (load("qwen3", options, settings), runner("qwen3"));
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
fn the_least_recently_used_state_is_evicted_first() {
    let runner = runner("qwen3");
    let [one, other] = [1, 2].map(|seed| vec![ChatMessage::user(long(seed))]);
    let (whole, beginning) = (prefill(&runner, &one), common_prefix(&runner, &one, &other));
    let entries = |cache_entries| cached_again(LoadOptions::default().cache_bytes, cache_entries);
    assert!(whole <= entries(2));
    assert_eq!(entries(1), beginning);
    assert_eq!(entries(0), 0);

    // The cache holds whole pages: keys and values of the prompt and of all tokens of the reply except the last.
    let [one, other] = [one, other].map(|history| {
        let n_tokens = runner.prompt_tokens(&history, true).unwrap().len() + options().max_tokens.unwrap() - 1;
        usize::try_from(runner.info().memory_estimate(n_tokens).key_values).unwrap()
    });
    let bytes = |cache_bytes: usize| cached_again(cache_bytes as u64, EngineSettings::default().cache_entries);
    assert!(whole <= bytes(one + other));
    assert_eq!(bytes(one + other - 1), beginning);
    // The most recently used state stays, whatever its size.
    assert_eq!(bytes(1), beginning);
    assert_eq!(bytes(0), 0);
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
fn a_prompt_of_one_token_less_than_the_context_is_answered_but_not_a_longer_one() {
    let options = || LoadOptions { context_size: Some(PAGE + 1), ..Default::default() };
    for family in FAMILIES {
        let runner = load(family, options(), EngineSettings::default());
        let last =
            |n_tokens| runner.complete(Prompt::Tokens(vec![90; n_tokens]), self::options()).into_iter().last().unwrap();
        let Ok(MessageResponse::Complete(completion)) = last(PAGE) else { panic!("{family}: one token must fit") };
        assert_eq!(completion.stats.total_tokens(), PAGE + 1, "{family}");
        assert!(last(PAGE + 1).is_err() && last(PAGE + 2).is_err(), "{family}");
    }
}
