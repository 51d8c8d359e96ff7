//! The prefix cache: prompt tokens that are not prefilled again, because an earlier sequence began with them. The counts
//! are exact: the tokens of the messages in common.

use causerie::{
    ChatMessage, Completion, Conversation, GenerationOptions, LoadOptions, MessageResponse, ModelRunner, SdkFunction,
};

use crate::fixture;

fn runner() -> ModelRunner {
    ModelRunner::load(fixture("models/lfm2-f32.gguf")).unwrap()
}

fn ask(conversation: &Conversation, text: &str) -> Completion {
    let options = GenerationOptions { temperature: Some(0.0), max_tokens: Some(30), ..Default::default() };
    let events = conversation.generate_response(ChatMessage::user(text), options);
    let last = events.into_iter().map(Result::unwrap).last();
    let Some(MessageResponse::Complete(completion)) = last else { panic!("the reply ends: {last:?}") };
    *completion
}

/// Tokens of messages up to the end of the last one, without the line feed after it, which is one token.
fn count(runner: &ModelRunner, messages: &[ChatMessage]) -> usize {
    runner.prompt_tokens(messages, false).unwrap().len() - 1
}

fn with_function(runner: &ModelRunner) -> Conversation {
    let conversation = runner.create_conversation("You are brief.");
    conversation.register_function(SdkFunction::new("get_time", "The time.", vec![])).unwrap();
    conversation
}

#[test]
fn conversations_with_the_same_functions_prefill_them_once() {
    let runner = runner();
    assert_eq!(ask(&with_function(&runner), "What time is it?").stats.cached_prompt_tokens, 0);
    let (warm, cold) = (with_function(&runner), with_function(&self::runner()));
    let system = count(&runner, &warm.history());
    let (warm, cold) = (ask(&warm, "Name three rivers."), ask(&cold, "Name three rivers."));
    assert_eq!((warm.stats.cached_prompt_tokens, cold.stats.cached_prompt_tokens), (system, 0));
    assert_eq!(warm.full_message, cold.full_message);
}

/// The next prompt renders the last reply differently from what the model generated, and a state of this model cannot be
/// cut.
#[test]
fn a_conversation_larger_than_the_cache_is_prefilled_once() {
    let cached = |cache_bytes| {
        let options = LoadOptions { cache_bytes, ..Default::default() };
        let runner = ModelRunner::load_with(fixture("models/lfm2-f32.gguf"), options).unwrap();
        let conversation = with_function(&runner);
        ["Where?", "When?", "Why?"].map(|text| ask(&conversation, text).stats.cached_prompt_tokens)
    };
    let [small, large] = [1, 512 << 20].map(cached);
    assert_eq!(small, large);
    assert!(0 < small[1] && small[1] < small[2], "{small:?}");
}

#[test]
fn histories_that_diverge_share_their_common_prefix() {
    let runner = runner();
    let conversation = with_function(&runner);
    let question = "What time is it in the town where they all live?";
    ask(&conversation, question);
    let mut history = conversation.history();
    let asked = count(&runner, &history[..2]);
    history.truncate(1);
    // The same question again, for another answer: only the generation prompt is prefilled.
    let again = runner.create_conversation_from_history(history.clone());
    assert_eq!(ask(&again, question).stats.cached_prompt_tokens, asked);
    // Another question: the functions are cached.
    let other = runner.create_conversation_from_history(history.clone());
    assert_eq!(ask(&other, "Where is it?").stats.cached_prompt_tokens, count(&runner, &history));
}
