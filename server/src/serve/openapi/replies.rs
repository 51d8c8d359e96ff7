//! The schemas of replies.

use serde_json::{Value as Json, json};

use crate::serve::openapi::parts::reference;

/// An object whose fields are all required.
fn object(properties: Json) -> Json {
    let names: Vec<&String> = properties.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    json!({ "type": "object", "required": names, "properties": properties })
}

fn list(items: Json) -> Json {
    json!({ "type": "array", "items": items })
}

fn count() -> Json {
    json!({ "type": "integer", "minimum": 0 })
}

fn text() -> Json {
    json!({ "type": "string" })
}

fn text_or_null() -> Json {
    json!({ "type": ["string", "null"] })
}

pub(super) fn schemas() -> Json {
    json!({
        "ChatCompletion": completion("chat.completion", &json!({ "message": message() })),
        "Completion": completion("text_completion", &json!({ "text": text() })),
        "Response": response(),
        "Message": anthropic_message(),
        "Decision": decision(),
        "SystemOneAnswers": systemone(),
        "Transcription": {
            "type": "object",
            "required": ["text", "usage"],
            "properties": {
                "text": text(),
                "usage": object(json!({ "type": { "const": "duration" }, "seconds": { "type": "number", "minimum": 0 } })),
                "task": { "const": "transcribe" },
                "language": text(),
                "duration": { "type": "number", "minimum": 0 },
                "segments": list(json!({ "type": "object", "required": ["start", "end", "text"] })),
                "words": list(json!({ "type": "object", "required": ["start", "end", "word"] })),
            },
        },
        "VoiceList": object(json!({ "voices": list(object(json!({ "id": text(), "name": text() }))) })),
        "DeletedResponse": object(json!({
            "id": text(), "object": { "const": "response" }, "deleted": { "const": true },
        })),
        "ItemList": object(json!({
            "object": { "const": "list" },
            "data": list(json!({ "type": "object", "required": ["id", "type"] })),
            "first_id": text_or_null(),
            "last_id": text_or_null(),
            "has_more": { "type": "boolean" },
        })),
        "TokenCount": object(json!({ "input_tokens": count() })),
        "Model": model(),
        "ModelList": object(json!({ "object": { "const": "list" }, "data": list(reference("Model")) })),
        "Status": object(json!({ "status": { "enum": ["alive", "ready"] } })),
        "Error": object(json!({ "error": object(json!({
            "message": text(), "type": text(), "param": text_or_null(), "code": text_or_null(),
        })) })),
        "MessageError": object(json!({
            "type": { "const": "error" },
            "error": object(json!({ "type": text(), "message": text() })),
            "request_id": text_or_null(),
        })),
    })
}

fn model() -> Json {
    let flag = json!({ "type": "boolean" });
    object(json!({
        "id": text(),
        "object": { "const": "model" },
        "created": count(),
        "owned_by": text(),
        "context_length": count(),
        "capabilities": object(json!({
            "chat": flag, "function_calling": flag, "reasoning": flag, "vision": flag, "audio": flag,
            "speech": flag,
        })),
    }))
}

fn completion(kind: &str, said: &Json) -> Json {
    let mut choice = json!({
        "index": count(),
        "logprobs": { "type": ["object", "null"] },
        "finish_reason": { "enum": ["stop", "length", "tool_calls"] },
        "seed": { "type": "integer", "description": "The seed that was used." },
    });
    if let (Some(choice), Some(said)) = (choice.as_object_mut(), said.as_object()) {
        choice.extend(said.clone());
    }
    object(json!({
        "id": text(),
        "object": { "const": kind },
        "created": count(),
        "model": text(),
        "system_fingerprint": text(),
        "choices": list(object(choice)),
        "usage": object(json!({
            "prompt_tokens": count(),
            "completion_tokens": count(),
            "total_tokens": count(),
            "prompt_tokens_details": object(json!({ "cached_tokens": count(), "audio_tokens": count() })),
            "completion_tokens_details": object(json!({ "reasoning_tokens": count(), "audio_tokens": count() })),
        })),
        "timings": { "type": ["object", "null"] },
    }))
}

fn message() -> Json {
    let function = object(json!({ "name": text(), "arguments": text() }));
    let call = object(json!({ "id": text(), "type": { "const": "function" }, "function": function }));
    let mut message = object(json!({
        "role": { "const": "assistant" }, "content": text_or_null(), "refusal": { "type": "null" },
    }));
    message["properties"]["reasoning_content"] = text();
    message["properties"]["tool_calls"] = list(call);
    message["properties"]["audio"] = object(json!({
        "id": text(),
        "data": { "type": "string", "contentEncoding": "base64" },
        "expires_at": count(),
        "transcript": text(),
    }));
    with_remarks(message)
}

/// A reply with the fields of our own that it may have.
fn with_remarks(mut reply: Json) -> Json {
    reply["properties"]["rejected_calls"] = list(json!({ "type": "object" }));
    reply["properties"]["diagnostics"] = list(object(json!({ "code": text(), "message": text() })));
    reply
}

fn anthropic_message() -> Json {
    let block = json!({ "anyOf": [
        object(json!({ "type": { "const": "text" }, "text": text() })),
        object(json!({ "type": { "const": "thinking" }, "thinking": text(), "signature": text() })),
        object(json!({ "type": { "const": "tool_use" }, "id": text(), "name": text(), "input": { "type": "object" } })),
    ] });
    with_remarks(object(json!({
        "id": text(),
        "type": { "const": "message" },
        "role": { "const": "assistant" },
        "model": text(),
        "content": list(block),
        "stop_reason": { "enum": ["end_turn", "max_tokens", "stop_sequence", "tool_use", "model_context_window_exceeded"] },
        "stop_sequence": text_or_null(),
        "usage": object(json!({
            "input_tokens": count(),
            "cache_creation_input_tokens": count(),
            "cache_read_input_tokens": count(),
            "output_tokens": count(),
        })),
    })))
}

fn response() -> Json {
    let item = |kind: &str, more: Json| {
        let status = json!({ "enum": ["completed", "incomplete", "in_progress"] });
        let mut item = json!({ "id": text(), "type": { "const": kind }, "status": status });
        if let (Some(item), Json::Object(more)) = (item.as_object_mut(), more) {
            item.extend(more);
        }
        object(item)
    };
    let parts = || list(json!({ "type": "object", "required": ["type", "text"] }));
    with_remarks(object(json!({
        "id": text(),
        "object": { "const": "response" },
        "created_at": count(),
        "completed_at": { "type": ["integer", "null"] },
        "status": { "enum": ["completed", "incomplete", "in_progress", "failed"] },
        "error": { "type": ["object", "null"] },
        "incomplete_details": { "type": ["object", "null"] },
        "model": text(),
        "output": list(json!({ "anyOf": [
            item("message", json!({ "role": { "const": "assistant" }, "content": parts() })),
            item("reasoning", json!({ "summary": list(json!({ "type": "object" })), "content": parts() })),
            item("function_call", json!({ "call_id": text(), "name": text(), "arguments": text() })),
        ] })),
        "usage": object(json!({
            "input_tokens": count(),
            "input_tokens_details": object(json!({ "cached_tokens": count(), "cache_write_tokens": count() })),
            "output_tokens": count(),
            "output_tokens_details": object(json!({ "reasoning_tokens": count() })),
            "total_tokens": count(),
        })),
        "tools": list(json!({ "type": "object" })),
        "tool_choice": { "type": ["string", "object"] },
        "truncation": { "enum": ["auto", "disabled"] },
        "parallel_tool_calls": { "type": "boolean" },
        "background": { "const": false },
        "frequency_penalty": { "type": "number" },
        "instructions": text_or_null(),
        "max_output_tokens": { "type": ["integer", "null"] },
        "max_tool_calls": { "type": ["integer", "null"] },
        "metadata": { "type": "object" },
        "presence_penalty": { "type": "number" },
        "previous_response_id": text_or_null(),
        "prompt_cache_key": text_or_null(),
        "reasoning": object(json!({ "effort": text_or_null(), "summary": text_or_null() })),
        "safety_identifier": text_or_null(),
        "service_tier": text(),
        "store": { "type": "boolean" },
        "temperature": { "type": "number" },
        "text": object(json!({ "format": { "type": "object", "required": ["type"] } })),
        "top_logprobs": count(),
        "top_p": { "type": "number" },
        "user": text_or_null(),
    })))
}

fn probability() -> Json {
    json!({ "type": "number", "minimum": 0, "maximum": 1 })
}

/// An answer of a decision, with the probability of all labels together.
fn decided(kind: &str, properties: Json) -> Json {
    let mut all = json!({ "type": { "const": kind }, "label_probability": probability() });
    if let (Some(all), Json::Object(properties)) = (all.as_object_mut(), properties) {
        all.extend(properties);
    }
    object(all)
}

fn decision() -> Json {
    let value = json!({ "type": ["string", "boolean"] });
    let score = json!({ "type": "number", "minimum": 0 });
    object(json!({
        "answers": list(json!({ "anyOf": [
            decided("predicate", json!({ "name": text_or_null(), "probability": probability() })),
            decided("choice", json!({
                "name": text_or_null(),
                "choice": value,
                "confidence": probability(),
                "probabilities": list(object(json!({ "value": value, "probability": probability() }))),
            })),
            decided("score", json!({
                "name": text_or_null(),
                "score": score,
                "confidence": probability(),
                "probabilities": list(object(json!({
                    "label": text(), "value": count(), "probability": probability(),
                }))),
            })),
            decided("refusal", json!({ "name": text_or_null() })),
        ] })),
        "model": text(),
        "usage": object(json!({
            "input_tokens": count(),
            "input_tokens_details": object(json!({ "cached_tokens": count(), "cache_write_tokens": count() })),
            "output_tokens": count(),
            "output_tokens_details": object(json!({ "reasoning_tokens": count() })),
            "total_tokens": count(),
        })),
    }))
}

fn systemone() -> Json {
    let by_label = json!({ "type": "object", "additionalProperties": probability() });
    object(json!({
        "model": text(),
        "answers": { "type": "object", "additionalProperties": { "anyOf": [
            decided("noul", json!({ "noul": probability() })),
            decided("choice", json!({ "choice": text(), "confidence": probability(), "probabilities": by_label })),
            decided("score", json!({
                "score": { "type": "number", "minimum": 0 },
                "confidence": probability(),
                "legend": { "type": "object", "additionalProperties": text() },
                "probabilities": by_label,
            })),
        ] } },
        "unanswered": list(text()),
        "usage": object(json!({ "input_tokens": count(), "output_tokens": count() })),
    }))
}
