//! The checks. Each sends requests of its own.

use serde_json::{Value as Json, json};

use crate::client::{CheckClient, HttpReply, shortened};

type Check = fn(&CheckClient) -> Result<(), String>;

pub(super) const ALL: [(&str, Check); 21] = [
    ("/models returns a list of models", models),
    ("a reply has all its fields, and counts that add up", whole),
    ("a stream has a role, deltas, one finish_reason and an end", stream),
    ("a stream gives the text of the whole reply", same_text),
    ("usage is streamed on request", streamed_usage),
    ("max_tokens is respected and reported as length", limit),
    ("a stop string ends the reply, and is not part of it", stop),
    ("the same seed gives the same reply", seed),
    ("null is the same as absent", null),
    ("n is supported or refused", several),
    ("tool_choice none is supported or refused", no_tool),
    ("tool_choice required is supported or refused", required_tool),
    ("streamed calls have indices, names and JSON arguments", streamed_tool),
    ("response_format json_object is supported or refused", json_object),
    ("logprobs are supported or refused", logprobs),
    ("a model that does not exist is refused, or the reply names another", unknown_model),
    ("a body that is not JSON is refused", not_json),
    ("values of a wrong type or out of range are refused", wrong_values),
    ("a request without messages is refused", no_messages),
    ("a path that does not exist returns 404", unknown_path),
    ("a client may disconnect during a stream", disconnect),
];

fn models(client: &CheckClient) -> Result<(), String> {
    let models = client.get("/models")?.success()?;
    let is_model = |model: &Json| model["id"].is_string() && model["object"] == "model";
    ensure(models["object"] == "list", "object must be list")?;
    ensure(models["data"].as_array().is_some_and(|data| data.iter().all(is_model)), "data must be an array of models")
}

fn whole(client: &CheckClient) -> Result<(), String> {
    let reply = client.chat(json!({}))?.success()?;
    let choice = &reply["choices"][0];
    ensure(reply["object"] == "chat.completion", "object must be chat.completion")?;
    ensure(
        reply["id"].is_string() && reply["created"].is_u64() && reply["model"].is_string(),
        "id, created and model must be present",
    )?;
    ensure(choice["message"]["role"] == "assistant", "role must be assistant")?;
    ensure(choice["message"]["content"].is_string(), "content must be a string")?;
    ensure(
        ["stop", "length"].iter().any(|reason| choice["finish_reason"] == *reason),
        "finish_reason must be stop or length",
    )?;
    let count = |name: &str| reply["usage"][name].as_u64();
    let sum = count("prompt_tokens").zip(count("completion_tokens")).map(|(prompt, completion)| prompt + completion);
    ensure(sum.is_some() && sum == count("total_tokens"), "total_tokens must be the sum of the other counts")
}

fn stream(client: &CheckClient) -> Result<(), String> {
    let chunks = client.chat(json!({ "stream": true }))?.chunks()?;
    let deltas: Vec<&Json> = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]).collect();
    ensure(
        chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk"),
        "object must be chat.completion.chunk in every chunk",
    )?;
    ensure(chunks.windows(2).all(|pair| pair[0]["id"] == pair[1]["id"]), "id must be the same in all chunks")?;
    ensure(
        deltas.first().is_some_and(|delta| delta["role"] == "assistant"),
        "the first delta must have the role assistant",
    )?;
    ensure(deltas.iter().skip(1).all(|delta| delta.get("role").is_none()), "only the first delta may have a role")?;
    let reasons = chunks.iter().filter(|chunk| chunk["choices"][0]["finish_reason"].is_string()).count();
    ensure(reasons == 1, "exactly one chunk must have a finish_reason")
}

fn same_text(client: &CheckClient) -> Result<(), String> {
    let whole = text(&client.chat(json!({}))?)?;
    let chunks = client.chat(json!({ "stream": true }))?.chunks()?;
    let pieces = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    same(&pieces.collect::<String>(), &whole)
}

fn streamed_usage(client: &CheckClient) -> Result<(), String> {
    let fields = json!({ "stream": true, "stream_options": { "include_usage": true } });
    let chunks = client.chat(fields)?.chunks()?;
    let last = chunks.last().ok_or("the stream must have a chunk")?;
    ensure(last["choices"] == json!([]), "choices must be empty in the last chunk")?;
    ensure(last["usage"]["completion_tokens"].is_u64(), "the last chunk must have usage")
}

fn limit(client: &CheckClient) -> Result<(), String> {
    let reply = client.chat(json!({ "max_tokens": 2 }))?.success()?;
    ensure(
        reply["usage"]["completion_tokens"].as_u64().is_some_and(|n| n <= 2),
        "completion_tokens must be at most max_tokens",
    )?;
    ensure(reply["choices"][0]["finish_reason"] == "length", "finish_reason must be length")
}

fn stop(client: &CheckClient) -> Result<(), String> {
    let whole = text(&client.chat(json!({}))?)?;
    let stop: String = whole.chars().skip(whole.chars().count() / 2).take(3).collect();
    let stopped = text(&client.chat(json!({ "stop": stop }))?)?;
    let expect = whole.split_once(&stop).map_or("", |parts| parts.0);
    same(&stopped, expect)
}

fn seed(client: &CheckClient) -> Result<(), String> {
    let reply = || text(&client.chat(json!({ "seed": 7, "temperature": 1 }))?);
    same(&reply()?, &reply()?)
}

fn null(client: &CheckClient) -> Result<(), String> {
    let nulls =
        json!({ "stop": null, "tools": null, "tool_choice": null, "response_format": null, "n": null, "seed": null });
    same(&text(&client.chat(nulls)?)?, &text(&client.chat(json!({}))?)?)
}

fn several(client: &CheckClient) -> Result<(), String> {
    supported(&client.chat(json!({ "n": 2 }))?, |reply| {
        ensure(reply["choices"].as_array().is_some_and(|choices| choices.len() == 2), "choices must have two elements")
    })
}

fn tools() -> Json {
    let city = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let function = json!({ "name": "get_weather", "description": "Get the weather in a city.", "parameters": city });
    json!([{ "type": "function", "function": function }])
}

fn weather(choice: &str) -> Json {
    json!({
        "messages": [{ "role": "user", "content": "What is the weather in Oslo?" }],
        "tools": tools(),
        "tool_choice": choice,
        "max_tokens": 100,
    })
}

fn no_tool(client: &CheckClient) -> Result<(), String> {
    supported(&client.chat(weather("none"))?, |reply| {
        let calls = &reply["choices"][0]["message"]["tool_calls"];
        ensure(calls.as_array().is_none_or(Vec::is_empty), "tool_calls must be absent or empty")
    })
}

fn required_tool(client: &CheckClient) -> Result<(), String> {
    supported(&client.chat(weather("required"))?, |reply| {
        let call = &reply["choices"][0]["message"]["tool_calls"][0];
        ensure(call["id"].is_string() && call["type"] == "function", "tool_calls must have a call with an id")?;
        ensure(call["function"]["name"] == "get_weather", "the call must be of get_weather")?;
        arguments(call["function"]["arguments"].as_str().unwrap_or_default())
    })
}

fn streamed_tool(client: &CheckClient) -> Result<(), String> {
    let mut fields = weather("required");
    fields["stream"] = json!(true);
    let reply = client.chat(fields)?;
    if reply.status != 200 {
        return reply.refusal();
    }
    let chunks = reply.chunks()?;
    let pieces = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array()).flatten();
    let pieces: Vec<&Json> = pieces.collect();
    let first = pieces.first().ok_or("tool_calls must have a call with an id")?;
    ensure(
        first["id"].is_string() && first["function"]["name"].is_string(),
        "the first piece must have an id and a name",
    )?;
    ensure(
        pieces.iter().all(|piece| piece["index"].is_u64() && piece["function"].is_object()),
        "every piece must have an index and a function",
    )?;
    let first_call = pieces.iter().filter(|piece| piece["index"] == 0);
    arguments(&first_call.filter_map(|piece| piece["function"]["arguments"].as_str()).collect::<String>())
}

fn arguments(text: &str) -> Result<(), String> {
    let read: Option<Json> = serde_json::from_str(text).ok();
    ensure(read.is_some_and(|arguments| arguments["city"].is_string()), "arguments must be a JSON object with the city")
}

fn json_object(client: &CheckClient) -> Result<(), String> {
    let fields = json!({
        "messages": [{ "role": "user", "content": "Name a colour, as JSON." }],
        "response_format": { "type": "json_object" },
        "max_tokens": 200,
    });
    supported(&client.chat(fields)?, |reply| {
        let choice = &reply["choices"][0];
        let content = choice["message"]["content"].as_str().unwrap_or_default();
        let is_object = serde_json::from_str::<Json>(content).is_ok_and(|json| json.is_object());
        // A truncated reply holds the beginning of an object.
        let is_beginning = choice["finish_reason"] == "length" && content.trim_start().starts_with('{');
        ensure(is_object || is_beginning, "content must be a JSON object")
    })
}

fn logprobs(client: &CheckClient) -> Result<(), String> {
    supported(&client.chat(json!({ "logprobs": true, "top_logprobs": 2 }))?, |reply| {
        let first = &reply["choices"][0]["logprobs"]["content"][0];
        ensure(first["token"].is_string() && first["logprob"].is_number(), "logprobs.content must have tokens")?;
        ensure(
            first["top_logprobs"].as_array().is_some_and(|top| top.len() == 2),
            "top_logprobs must have two elements",
        )
    })
}

fn unknown_model(client: &CheckClient) -> Result<(), String> {
    let reply = client.chat(json!({ "model": "no/such-model" }))?;
    if reply.status == 200 {
        let model = reply.json()?["model"].take();
        return ensure(model.is_string() && model != "no/such-model", "model must be the model that replied");
    }
    reply.refusal()?;
    ensure(reply.status == 404, "the status must be 404")
}

fn not_json(client: &CheckClient) -> Result<(), String> {
    ["{", "[]", "", "{\"model\": 1} x"].iter().try_for_each(|body| {
        let reply = client.post("/chat/completions", "application/json", body)?;
        reply.refusal().map_err(|why| format!("{body:?}: {why}"))
    })
}

fn wrong_values(client: &CheckClient) -> Result<(), String> {
    let fields = [
        json!({ "temperature": "hot" }),
        json!({ "temperature": -1 }),
        json!({ "max_tokens": 0 }),
        json!({ "top_p": 1.5 }),
        json!({ "stream": 1 }),
        json!({ "messages": "Hi" }),
        json!({ "messages": [{ "role": 3, "content": "Hi" }] }),
    ];
    fields.iter().try_for_each(|field| client.chat(field.clone())?.refusal().map_err(|why| format!("{field}: {why}")))
}

fn no_messages(client: &CheckClient) -> Result<(), String> {
    client.chat(json!({ "messages": null }))?.refusal()?;
    client.chat(json!({ "messages": [] }))?.refusal()
}

fn unknown_path(client: &CheckClient) -> Result<(), String> {
    ensure(client.get("/no/such/path")?.status == 404, "the status must be 404")
}

fn disconnect(client: &CheckClient) -> Result<(), String> {
    client.disconnect()?;
    text(&client.chat(json!({}))?).map(drop)
}

/// Checks that a request was refused, or that its reply passes a check.
fn supported(reply: &HttpReply, check: impl FnOnce(&Json) -> Result<(), String>) -> Result<(), String> {
    if reply.status == 200 { check(&reply.json()?) } else { reply.refusal() }
}

fn text(reply: &HttpReply) -> Result<String, String> {
    let reply = reply.success()?;
    let text = reply["choices"][0]["message"]["content"].as_str();
    text.map(str::to_owned).ok_or_else(|| "content must be a string".to_owned())
}

fn same(found: &str, expect: &str) -> Result<(), String> {
    if found == expect {
        Ok(())
    } else {
        Err(format!("the text must be {:?}, found {:?}", shortened(expect), shortened(found)))
    }
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}
