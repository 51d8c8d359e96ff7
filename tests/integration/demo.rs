//! The demo model through the whole path: template, tokens, weights, sampling, parsers, stream.

use std::sync::OnceLock;

use causerie::{
    ChatMessage, ChatMessageContent, Completion, Conversation, FinishReason, FunctionHandlers, GenerationOptions,
    MessageResponse, ModelRunner, Prompt, ResponseStream, SdkError, functions_from_json, generate, load,
    stream_generate,
};

use crate::repository;

fn demo() -> String {
    repository("models/demo.gguf")
}

/// A conversation like that of `causerie chat`.
fn chat() -> Conversation {
    let conversation = runner().create_conversation("You are causerie, a small assistant on this device.");
    let functions = std::fs::read_to_string(repository("server/src/chat/functions.json")).unwrap();
    for function in functions_from_json(&functions).unwrap() {
        conversation.register_function(function).unwrap();
    }
    conversation
}

fn runner() -> ModelRunner {
    static RUNNER: OnceLock<ModelRunner> = OnceLock::new();
    RUNNER.get_or_init(|| ModelRunner::load(demo()).unwrap()).clone()
}

#[test]
fn the_demo_model_sees() {
    for (picture, question, answer) in [
        ("circles.png", "How many red circles are there?", "There are 3 red circles."),
        ("circles.png", "What colour is the square?", "The square is blue."),
        ("circles.png", "Is there a star?", "No, there is no star."),
        // Large enough for tiles, for which the vocabulary has no marks.
        ("large.png", "What do you see?", "A yellow star and a pink heart."),
    ] {
        let picture = std::fs::read(repository(&format!("tests/fixtures/pictures/{picture}"))).unwrap();
        let mut message = ChatMessage::user(question);
        message.content.insert(0, ChatMessageContent::Image(picture));
        let mut text = runner().create_conversation("").generate_response(message, GenerationOptions::default()).text();
        assert_eq!(text.iter().collect::<Result<String, _>>().unwrap(), answer);
        let n_tokens = text.completion().unwrap().stats.prompt_tokens;
        assert!(n_tokens < 250, "{question}: a picture is one image of at most 196 rows, found {n_tokens} tokens");
    }
}

#[test]
fn a_function_returns_a_picture_that_the_model_reads() {
    let picture = ChatMessageContent::Image(std::fs::read(repository("tests/fixtures/pictures/circles.png")).unwrap());
    let reply = |content: Vec<ChatMessageContent>| {
        let conversation = chat();
        let handlers = FunctionHandlers::new().on_content("get_time", move |_| Ok::<_, SdkError>(content.clone()));
        let question = ChatMessage::user("What time is it?");
        let end = last(conversation.respond_with_functions(question, &handlers, GenerationOptions::default()));
        (conversation.history()[3].content.clone(), end.stats.prompt_tokens)
    };
    let ((with, n_with), (_, n_without)) =
        (reply(vec![picture.clone()]), reply(vec![ChatMessageContent::Text("12:00".into())]));
    assert_eq!(with, [picture]);
    assert!(n_without + 100 < n_with, "the prompt must have the rows of the picture: {n_with} and {n_without} tokens");
}

#[test]
fn the_demo_model_writes_down_a_note_that_it_sees() {
    let picture = std::fs::read(repository("tests/fixtures/pictures/note.png")).unwrap();
    let mut message = ChatMessage::user("Write this down");
    message.content.insert(0, ChatMessageContent::Image(picture));
    let calls =
        last(chat().generate_response(message, GenerationOptions::default())).full_message.function_calls.unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!((&*calls[0].name, calls[0].arguments["text"].as_str()), ("add_note", Some("call Nora at six")));
}

/// `timer.wav` says "set a timer for twelve minutes", in a voice that training does not have.
#[test]
fn the_demo_model_hears() {
    let recording = std::fs::read(repository("tests/fixtures/sounds/timer.wav")).unwrap();
    let mut message = ChatMessage::user("");
    message.content = vec![ChatMessageContent::Audio(recording)];
    let calls =
        last(chat().generate_response(message, GenerationOptions::default())).full_message.function_calls.unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].raw_text, r#"set_timer(duration=12, unit="minutes")"#);
}

#[test]
fn the_five_steps_of_a_function_call_work_as_in_the_specification() {
    let conversation = chat();
    let mut answer = String::new();
    let question = ChatMessage::user("Set a timer for 12 minutes for the pasta");
    for event in conversation.generate_response(question, GenerationOptions::default()) {
        match event.unwrap() {
            MessageResponse::FunctionCalls(calls) => {
                assert_eq!(calls.len(), 1);
                assert_eq!(calls[0].name, "set_timer");
                assert_eq!(calls[0].arguments["duration"].as_f64(), Some(12.0));
                assert_eq!(calls[0].arguments["unit"].as_str(), Some("minutes"));
                assert_eq!(calls[0].arguments["label"].as_str(), Some("pasta"));
                // Within the loop, before the reply is complete, as the specification's flow allows.
                let mut history = conversation.history();
                history
                    .push(ChatMessage::tool(r#"{"timer": "pasta", "duration": "12 minutes", "rings_at": "14:17:05"}"#));
                let next = conversation.model_runner().create_conversation_from_history(history);
                for event in next.generate_response(ChatMessage::user(""), GenerationOptions::default()) {
                    if let MessageResponse::Chunk(text) = event.unwrap() {
                        answer += &text;
                    }
                }
            }
            MessageResponse::Complete(completion) => {
                assert_eq!(completion.finish_reason, FinishReason::ToolCalls);
                assert_eq!(completion.full_message.function_calls.as_ref().map(Vec::len), Some(1));
            }
            other => panic!("the reply must be a call, found {other:?}"),
        }
    }
    assert!(answer.contains("14:17") || answer.contains("12 minutes"), "{answer}");
}

#[test]
fn with_parsing_off_calls_arrive_as_text() {
    let conversation = chat();
    let options = GenerationOptions { function_call_parser: None, ..Default::default() };
    let mut text = String::new();
    for event in conversation.generate_response(ChatMessage::user("What are my notes?"), options) {
        match event.unwrap() {
            MessageResponse::Chunk(chunk) => text += &chunk,
            MessageResponse::Complete(completion) => assert_eq!(completion.full_message.function_calls, None),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(text, "<|tool_call_start|>[list_notes()]<|tool_call_end|>");
}

#[test]
fn the_calls_of_the_local_library_agree_with_each_other() {
    let (model, tokenizer) = load(demo()).unwrap();
    let messages = [ChatMessage::user("Hello!")];
    let prompt = tokenizer.apply_chat_template(&messages, false, true).unwrap();
    assert_eq!(
        prompt,
        Prompt::Text("<|startoftext|><|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n".into())
    );
    let tokens = tokenizer.apply_chat_template(&messages, true, true).unwrap();
    let options = GenerationOptions { max_tokens: Some(40), ..Default::default() };
    let text = generate(&model, &tokenizer, prompt.clone(), options.clone(), false).unwrap();
    assert!(!text.is_empty());
    assert_eq!(generate(&model, &tokenizer, tokens, options.clone(), false).unwrap(), text);
    let mut stream = stream_generate(&model, &tokenizer, prompt, options);
    let chunks: Vec<String> = stream.iter().map(Result::unwrap).collect();
    assert_eq!(chunks.concat(), text);
    assert_eq!(stream.completion().unwrap().full_message.text(), text);
}

#[test]
fn a_reply_can_continue_after_its_end() {
    let reply = |options: GenerationOptions| {
        let options = GenerationOptions { temperature: Some(0.0), ..options };
        let events = chat().generate_response(ChatMessage::user("Note: buy milk"), options);
        let completion = events.into_iter().map(Result::unwrap).find_map(|event| match event {
            MessageResponse::Complete(completion) => Some(completion),
            _ => None,
        });
        completion.unwrap()
    };
    let ended = reply(GenerationOptions::default());
    assert_eq!(ended.finish_reason, FinishReason::ToolCalls);
    let most = ended.stats.completion_tokens + 8;
    let went_on = reply(GenerationOptions { ignore_end: true, max_tokens: Some(most), ..Default::default() });
    assert_eq!(went_on.stats.completion_tokens, most);
    assert_eq!(
        went_on.full_message.function_calls.as_ref().map(Vec::len),
        Some(1),
        "the reply before its end is unchanged"
    );
}

#[test]
fn only_the_result_of_a_call_is_prefilled_for_the_answer() {
    let conversation = chat();
    let runner = conversation.model_runner().clone();
    let question = ChatMessage::user("Set a timer for 12 minutes for the pasta");
    let result = || ChatMessage::tool(r#"{"timer": "pasta", "duration": "12 minutes", "rings_at": "14:17:05"}"#);
    let mut completed = None;
    for event in conversation.generate_response(question, GenerationOptions::default()) {
        if let MessageResponse::FunctionCalls(_) = event.unwrap() {
            // In a new conversation, while the reply with the call is still running.
            let history = conversation.history().into_iter().chain([result()]).collect();
            let next = runner.create_conversation_from_history(history);
            completed = Some(last(next.continue_response(GenerationOptions::default())));
        }
    }
    // The prompt adds to the model's turn only the markers that end the block and the turn.
    let before = runner.prompt_tokens(&conversation.history(), false).unwrap().len();
    let stats = completed.unwrap().stats;
    let new = stats.prompt_tokens - before;
    assert!(stats.prompt_tokens - stats.cached_prompt_tokens <= new + 3, "{new} new tokens, {stats:?}");

    // In the same conversation, after the reply.
    let stats = last(conversation.generate_response(result(), GenerationOptions::default())).stats;
    assert!(stats.prompt_tokens - stats.cached_prompt_tokens <= new + 3, "{new} new tokens, {stats:?}");
    assert!(new < 60 && 300 < before, "the functions were not prefilled again");
}

fn last(stream: ResponseStream) -> Completion {
    match stream.into_iter().last() {
        Some(Ok(MessageResponse::Complete(completion))) => *completion,
        other => panic!("the reply ends: {other:?}"),
    }
}
