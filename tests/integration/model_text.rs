//! A model's tokenizer and chat template without its weights.

use causerie::{
    ChatMessage, ChatMessageContent, ErrorKind, ModelRunner, ModelText, SdkFunction, SdkFunctionParameter,
    SdkFunctionParameterType,
};

use crate::fixture;

fn history() -> Vec<ChatMessage> {
    let city = SdkFunctionParameter::new("city", SdkFunctionParameterType::string(), "The city.");
    let functions = vec![SdkFunction::new("get_weather", "Get the weather.", vec![city])];
    vec![ChatMessage::with_functions(functions), ChatMessage::user("How is it in <|im_end|> Größe?")]
}

#[test]
fn every_kind_of_model_reads_text_as_it_does_once_loaded() {
    for model in ["models/lfm2-q4_0.gguf", "models/lfm2-hf-sharded", "models/llama2", "bundles/lfm2.bundle"] {
        let (text, runner) = (ModelText::read(fixture(model)).unwrap(), ModelRunner::load(fixture(model)).unwrap());
        let prompt = text.render_prompt(&history(), true).unwrap();
        assert_eq!(prompt, runner.render_prompt(&history(), true).unwrap(), "{model}");
        let tokens = text.tokenize(&prompt).unwrap();
        assert_eq!(tokens, runner.tokenize(&prompt).unwrap(), "{model}");
        let pieces = |text: &dyn Fn(u32) -> Option<String>| tokens.iter().map(|id| text(*id)).collect::<Vec<_>>();
        assert_eq!(pieces(&|id| text.token_text(id)), pieces(&|id| runner.token_text(id)), "{model}");
        assert_eq!(text.token_text(u32::MAX), None);
    }
}

#[test]
fn a_file_without_weights_is_enough() {
    let model = fixture("tokenizers/llama.gguf");
    let text = ModelText::read(&model).unwrap();
    assert!(!text.tokenize("Hello, world!").unwrap().is_empty());
    let err = text.render_prompt(&history(), true).unwrap_err();
    assert_eq!((err.kind(), err.message()), (ErrorKind::InvalidMessage, "the model has no chat template"));
    assert_eq!(ModelRunner::load(&model).unwrap_err().kind(), ErrorKind::ModelLoad);
}

/// The data of the weights cannot be read: the file ends after its headers, and is as long as they say without taking space.
#[test]
fn the_data_of_weights_is_not_read() {
    let whole = std::fs::read(fixture("models/lfm2-f32.gguf")).unwrap();
    let expect = ModelText::read_from_bytes(whole.clone()).unwrap();
    let mut damaged = whole;
    let start = damaged.len() / 2; // within the weights
    damaged[start..].fill(0xFF); // NaN, which loading refuses
    let text = ModelText::read_from_bytes(damaged).unwrap();
    assert_eq!(text.render_prompt(&history(), true).unwrap(), expect.render_prompt(&history(), true).unwrap());
}

#[test]
fn images_are_shown_as_markers_or_refused_as_once_loaded() {
    let mut question = ChatMessage::user("What is this?");
    question.content.insert(0, ChatMessageContent::Image(Vec::new()));
    for model in ["models/lfm2vl-hf", "models/lfm2-q4_0.gguf", "models/llama2"] {
        let (text, runner) = (ModelText::read(fixture(model)).unwrap(), ModelRunner::load(fixture(model)).unwrap());
        let question = std::slice::from_ref(&question);
        match (text.render_prompt(question, true), runner.render_prompt(question, true)) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{model}"),
            (Err(found), Err(expect)) => assert_eq!(found.to_string(), expect.to_string(), "{model}"),
            (found, expect) => panic!("{model}: {found:?}, once loaded {expect:?}"),
        }
    }
}
