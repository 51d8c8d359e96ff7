//! Histories in chat-completions form.
//!
//! A history is an array of messages `{"role", "content", "name"?, "tool_call_id"?, "reasoning_content"?, "tool_calls"?}`.
//! Additional fields hold what chat-completions cannot express: on an assistant message `rejected_calls` and `incomplete`,
//! on one of its calls `raw_text`, `repairs` and `diagnostics`, and on the system message `tools`, the functions that a
//! history carries. Unknown fields are kept and written again.

mod fields;
mod read;
mod write;

pub use read::messages_from_json;
pub use write::messages_to_json;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{
        Arguments, Diagnostic, DiagnosticCode, RejectedCall, RejectionReason, Repair, SdkFunction, SdkFunctionCall,
        SdkFunctionParameter, SdkFunctionParameterType, Value,
    };
    use crate::message::{ChatMessage, ChatMessageContent};
    use crate::notation::read_json;

    fn call() -> SdkFunctionCall {
        SdkFunctionCall {
            name: "get_weather".to_owned(),
            arguments: Arguments::from([
                ("city".to_owned(), Value::from("Zürich \"\n\u{0}")),
                ("id".to_owned(), read_json("123456789012345678901234567890").unwrap()),
                ("share".to_owned(), Value::Number(1.0)),
            ]),
            call_id: "call_7".to_owned(),
            raw_text: "get_weather(…)".to_owned(),
            repairs: vec![Repair::LeadingZero],
            diagnostics: vec![Diagnostic {
                code: DiagnosticCode::UndeclaredArgument,
                path: "id".to_owned(),
                message: "id is not declared".to_owned(),
            }],
        }
    }

    fn history() -> Vec<ChatMessage> {
        let city = SdkFunctionParameter::new("city", SdkFunctionParameterType::string(), "The city.").optional();
        let mut system = ChatMessage::system("Be brief.");
        system.functions = vec![SdkFunction::new("get_weather", "The weather.", vec![city])];
        let mut question = ChatMessage::user("What is on it?");
        question.content.push(ChatMessageContent::Image(b"\x89PNG\r\n\x1a\n...".to_vec()));
        question.content.push(ChatMessageContent::Image(b"\xff\xd8\xff...".to_vec()));
        question.content.push(ChatMessageContent::Image(b"RIFF....WEBP".to_vec()));
        question.content.push(ChatMessageContent::Image(Vec::new()));
        for file in [&b"RIFF....WAVE"[..], b"fLaC", b"OggS", b"ID3", b"\xff\xfb"] {
            question.content.push(ChatMessageContent::Audio(file.to_vec()));
        }
        question.name = Some("Ana".to_owned());
        question.extra = Arguments::from([("weight".to_owned(), Value::Integer(1))]);
        let mut reply = ChatMessage::assistant("");
        reply.content.clear();
        reply.reasoning_content = Some("Hm.".to_owned());
        reply.function_calls = Some(vec![call()]);
        reply.rejected_calls = vec![RejectedCall {
            reason: RejectionReason::IncompleteBlock,
            name: None,
            raw_text: "f(".to_owned(),
            byte_offset: 3,
            candidate: Some(call()),
            message: "cut".to_owned(),
        }];
        reply.incomplete = true;
        let mut result = ChatMessage::tool("{}");
        result.tool_call_id = Some("call_7".to_owned());
        vec![system, question, reply, result, ChatMessage::with_functions(Vec::new())]
    }

    #[test]
    fn a_written_history_reads_back_equal() {
        let text = messages_to_json(&history());
        assert_eq!(messages_from_json(&text).unwrap(), history());
        assert_eq!(messages_to_json(&messages_from_json(&text).unwrap()), text);
    }

    #[test]
    fn a_history_is_written_in_chat_completions_form() {
        let mut reply = ChatMessage::assistant("Yes.");
        reply.function_calls = Some(vec![SdkFunctionCall {
            name: "f".to_owned(),
            arguments: Arguments::from([("a".to_owned(), Value::Bool(true))]),
            call_id: "call_0".to_owned(),
            ..Default::default()
        }]);
        let expect = r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes.", "tool_calls": "#
            .to_owned()
            + r#"[{"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{\"a\": true}"}}]}]"#;
        assert_eq!(messages_to_json(&[ChatMessage::user("Hi"), reply]), expect);
    }
}
