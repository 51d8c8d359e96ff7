//! Images as apps show them, to small vision models with random weights.

use std::fs;

use causerie::{
    ChatMessage, ChatMessageContent, Completion, ContextPolicy, Conversation, ErrorKind, GenerationOptions,
    LoadOptions, MessageResponse, ModelRunner, Prompt, Role, SdkError, generate_with_images, load, messages_from_json,
};

use crate::fixture;

const VISION_MODEL: &str = "models/lfm2vl-hf";

fn options() -> GenerationOptions {
    GenerationOptions { temperature: Some(0.0), max_tokens: Some(4), ..Default::default() }
}

/// A model of each family.
const VISION_MODELS: [&str; 5] =
    [VISION_MODEL, "models/lfm3vl-hf", "models/gemma4-media-hf", "models/qwen35vl-hf", "models/gemma3vl-hf"];

fn runner(model: &str) -> ModelRunner {
    ModelRunner::load(fixture(model)).unwrap()
}

/// The pictures of the scenario: a small one, and one of several tiles.
fn pictures() -> [ChatMessageContent; 2] {
    let scenario = fs::read_to_string(fixture("scenarios/images.json")).unwrap();
    let scenario: serde_json::Value = serde_json::from_str(&scenario).unwrap();
    let sent = |step: usize| messages_from_json(&serde_json::json!([scenario["steps"][step]["send"]]).to_string());
    let [small, both] = [0, 1].map(|step| sent(step).unwrap().remove(0).content);
    [small[0].clone(), both[3].clone()]
}

fn question(parts: &[&ChatMessageContent], text: &str) -> ChatMessage {
    let parts = parts.iter().map(|part| (*part).clone()).chain([ChatMessageContent::Text(text.to_owned())]);
    ChatMessage { content: parts.collect(), ..ChatMessage::new(Role::User, "") }
}

fn ask(conversation: &Conversation, message: ChatMessage) -> Result<Completion, SdkError> {
    match conversation.generate_response(message, options()).into_iter().last() {
        Some(Ok(MessageResponse::Complete(completion))) => Ok(*completion),
        Some(Err(err)) => Err(err),
        other => panic!("the reply must end, found {other:?}"),
    }
}

fn bytes(picture: &ChatMessageContent) -> Vec<u8> {
    match picture {
        ChatMessageContent::Image(bytes) => bytes.clone(),
        other => panic!("a picture must be an image, found {other:?}"),
    }
}

#[test]
fn the_library_calls_show_images_in_place_of_markers() {
    let (model, processor) = load(fixture(VISION_MODEL)).unwrap();
    let [small, wide] = pictures();
    let placeholders = messages_from_json(
        r#"[{"role": "user", "content": [{"type": "image"}, {"type": "image"}, {"type": "text", "text": "Which?"}]}]"#,
    )
    .unwrap();
    let prompt = processor.apply_chat_template(&placeholders, false, true).unwrap();
    let expect = ask(&model.create_conversation(""), question(&[&small, &wide], "Which?")).unwrap();
    let generate = |images: &[&ChatMessageContent], prompt: Prompt| {
        let images = images.iter().copied().map(bytes).collect();
        generate_with_images(&model, &processor, images, prompt, options(), false)
    };
    assert_eq!(generate(&[&small, &wide], prompt.clone()).unwrap(), expect.full_message.text());
    // Each marker needs an image, and each image a marker.
    assert_eq!(generate(&[&small], prompt.clone()).unwrap_err().kind(), ErrorKind::InvalidMessage);
    assert_eq!(generate(&[&small], "Which?".into()).unwrap_err().kind(), ErrorKind::InvalidMessage);
    let tokens = processor.apply_chat_template(&placeholders, true, true).unwrap();
    assert_eq!(generate(&[&small, &wide], tokens).unwrap_err().kind(), ErrorKind::InvalidMessage);
    let damaged = generate_with_images(&model, &processor, vec![vec![1, 2]; 2], prompt, options(), false);
    assert_eq!(damaged.unwrap_err().kind(), ErrorKind::UnsupportedContent);
}

#[test]
fn a_refused_image_is_named_by_its_place_and_changes_no_history() {
    let conversation = runner(VISION_MODEL).create_conversation("Be brief.");
    let [small, _] = pictures();
    ask(&conversation, question(&[&small], "What is it?")).unwrap();
    let history = conversation.history();
    let cut = ChatMessageContent::Image(bytes(&small)[..40].to_vec());
    for (image, expect) in [
        (cut, "messages[3].content[1]: the image cannot be decoded"),
        (ChatMessageContent::Image(b"plums".to_vec()), "messages[3].content[1]: the image must be a JPEG"),
        (ChatMessageContent::Image(Vec::new()), "messages[3].content[1]: the image has no data"),
        (ChatMessageContent::Audio(b"RIFF".to_vec()), "messages[3].content[1]: the model does not support audio"),
    ] {
        let refusal = ask(&conversation, question(&[&small, &image], "And this?")).unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::UnsupportedContent);
        assert!(refusal.to_string().starts_with(expect), "{refusal}");
        assert_eq!(conversation.history(), history);
    }
    ask(&conversation, question(&[&small], "And this?")).unwrap();
}

#[test]
fn a_session_with_images_continues_with_the_same_bits_and_prefills_only_what_is_new() {
    VISION_MODELS.into_iter().for_each(check_session);
}

fn check_session(model: &str) {
    let file = std::env::temp_dir().join(format!("causerie-{}-images.session", std::process::id()));
    let [small, wide] = pictures();
    let saved = runner(model).create_conversation("");
    let first = ask(&saved, question(&[&small, &wide], "What is it?")).unwrap();
    saved.save_session(&file, true).unwrap();
    let restored = runner(model).restore_session(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(restored.history(), saved.history());
    let [expect, found] = [&saved, &restored].map(|chat| ask(chat, question(&[&wide], "And this?")).unwrap());
    assert_eq!(found.full_message, expect.full_message);
    assert_eq!(found.stats.cached_prompt_tokens, expect.stats.cached_prompt_tokens);
    assert!(first.stats.prompt_tokens <= found.stats.cached_prompt_tokens, "{model}: {:?}", found.stats);
}

#[test]
fn a_context_is_fitted_by_the_rows_of_images() {
    VISION_MODELS.into_iter().for_each(check_context);
}

fn check_context(model: &str) {
    let [small, wide] = pictures();
    let history = [question(&[&wide], "One?"), ChatMessage::assistant("A."), question(&[&small], "Two?")];
    let whole = runner(model).create_conversation_from_history(history.to_vec());
    let last = runner(model).create_conversation_from_history(history[2..].to_vec());
    let text = runner(model).create_conversation_from_history(vec![question(&[], "Two?")]);
    let [n_whole, n_last, n_text] = [&whole, &last, &text].map(|chat| chat.prompt_token_count().unwrap());
    assert!(n_text + 3 < n_last && n_last < n_whole, "{model}: {n_text}, {n_last}, {n_whole}");
    // A context with room for the last question only.
    let context_size = Some(n_last + 8);
    let limited = LoadOptions { context_size, ..Default::default() };
    let limited = ModelRunner::load_with(fixture(model), limited).unwrap();
    let conversation = limited.create_conversation_from_history(history.to_vec());
    let sliding =
        GenerationOptions { context_policy: ContextPolicy::Slide { shrink_tool_results: false }, ..options() };
    let plan = conversation.plan_context(&sliding).unwrap();
    // A prompt whose rows alone exceed the context is not tokenised.
    assert!(n_last < plan.tokens_before && plan.tokens_before <= n_whole, "{model}: {plan:?}");
    assert_eq!(plan.tokens_after, n_last, "{model}");
    assert_eq!(plan.dropped_messages, [0, 1]);
    let reply = conversation.continue_response(sliding).into_iter().last().unwrap().unwrap();
    let MessageResponse::Complete(completion) = reply else { panic!("the reply must end, found {reply:?}") };
    assert_eq!(completion.stats.prompt_tokens, n_last);
    let alone = ask(&runner(model).create_conversation(""), history[2].clone()).unwrap();
    assert_eq!(completion.full_message, alone.full_message);
    let refusal = conversation.continue_response(options()).into_iter().find_map(Result::err).unwrap();
    assert!(matches!(refusal.kind(), ErrorKind::PromptExceedsContext { .. }), "{refusal}");
}
