//! What is checked, each by requests of its own.

use serde_json::{Value as Json, json};

use crate::conformance::server::{Reply, Server, shortened};

type Check = fn(&Server) -> Result<(), String>;

pub(super) const ALL: [(&str, Check); 21] = [
    ("the list of models is one", models),
    ("a whole reply has all its parts, and counts that add up", whole),
    ("a stream has a role, deltas, one reason and an end", stream),
    ("a stream gives the text of the whole reply", same_text),
    ("usage is streamed when it is asked for", streamed_usage),
    ("max_tokens is kept, and told as length", limit),
    ("a stop text ends the reply, and is not in it", stop),
    ("a seed gives the same reply again", seed),
    ("null is the same as absent", null),
    ("n is honoured or refused", several),
    ("tool_choice none is honoured or refused", no_tool),
    ("tool_choice required is honoured or refused", required_tool),
    ("streamed calls have indices, names and JSON arguments", streamed_tool),
    ("response_format json_object is honoured or refused", json_object),
    ("logprobs are given or refused", logprobs),
    ("a model that does not exist is refused", unknown_model),
    ("a body that is no JSON is refused", no_json),
    ("values of a wrong type or range are refused", wrong_values),
    ("a request without messages is refused", no_messages),
    ("a path that does not exist is 404", unknown_path),
    ("a client that leaves its stream harms nobody", leaver),
];

fn models(server: &Server) -> Result<(), String> {
    let models = server.get("/models")?.good()?;
    let is_model = |model: &Json| model["id"].is_string() && model["object"] == "model";
    ensure(models["object"] == "list", "object is not list")?;
    ensure(models["data"].as_array().is_some_and(|data| data.iter().all(is_model)), "data holds no models")
}

fn whole(server: &Server) -> Result<(), String> {
    let reply = server.chat(json!({}))?.good()?;
    let choice = &reply["choices"][0];
    ensure(reply["object"] == "chat.completion", "object is not chat.completion")?;
    ensure(
        reply["id"].is_string() && reply["created"].is_u64() && reply["model"].is_string(),
        "no id, created or model",
    )?;
    ensure(choice["message"]["role"] == "assistant", "the role is not assistant")?;
    ensure(choice["message"]["content"].is_string(), "no content")?;
    ensure(["stop", "length"].iter().any(|reason| choice["finish_reason"] == *reason), "no finish_reason")?;
    let count = |name: &str| reply["usage"][name].as_u64();
    let sum = count("prompt_tokens").zip(count("completion_tokens")).map(|(prompt, said)| prompt + said);
    ensure(sum.is_some() && sum == count("total_tokens"), "usage does not add up")
}

fn stream(server: &Server) -> Result<(), String> {
    let chunks = server.chat(json!({ "stream": true }))?.chunks()?;
    let deltas: Vec<&Json> = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]).collect();
    ensure(chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk"), "a chunk has another object")?;
    ensure(chunks.windows(2).all(|pair| pair[0]["id"] == pair[1]["id"]), "the id changes")?;
    ensure(deltas.first().is_some_and(|delta| delta["role"] == "assistant"), "the first delta has no role")?;
    ensure(deltas.iter().skip(1).all(|delta| delta.get("role").is_none()), "a later delta has a role")?;
    let reasons = chunks.iter().filter(|chunk| chunk["choices"][0]["finish_reason"].is_string()).count();
    ensure(reasons == 1, "there is not one finish_reason")
}

fn same_text(server: &Server) -> Result<(), String> {
    let whole = text(&server.chat(json!({}))?)?;
    let chunks = server.chat(json!({ "stream": true }))?.chunks()?;
    let pieces = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    same(&pieces.collect::<String>(), &whole)
}

fn streamed_usage(server: &Server) -> Result<(), String> {
    let asked = json!({ "stream": true, "stream_options": { "include_usage": true } });
    let chunks = server.chat(asked)?.chunks()?;
    let last = chunks.last().ok_or("no chunk")?;
    ensure(last["choices"] == json!([]), "the last chunk has choices")?;
    ensure(last["usage"]["completion_tokens"].is_u64(), "the last chunk has no usage")
}

fn limit(server: &Server) -> Result<(), String> {
    let reply = server.chat(json!({ "max_tokens": 2 }))?.good()?;
    ensure(reply["usage"]["completion_tokens"].as_u64().is_some_and(|n| n <= 2), "more tokens were written")?;
    ensure(reply["choices"][0]["finish_reason"] == "length", "finish_reason is not length")
}

fn stop(server: &Server) -> Result<(), String> {
    let said = text(&server.chat(json!({}))?)?;
    let stop: String = said.chars().skip(said.chars().count() / 2).take(3).collect();
    let stopped = text(&server.chat(json!({ "stop": stop }))?)?;
    let expect = said.split_once(&stop).map_or("", |parts| parts.0);
    same(&stopped, expect)
}

fn seed(server: &Server) -> Result<(), String> {
    let reply = || text(&server.chat(json!({ "seed": 7, "temperature": 1 }))?);
    same(&reply()?, &reply()?)
}

fn null(server: &Server) -> Result<(), String> {
    let nulls =
        json!({ "stop": null, "tools": null, "tool_choice": null, "response_format": null, "n": null, "seed": null });
    same(&text(&server.chat(nulls)?)?, &text(&server.chat(json!({}))?)?)
}

fn several(server: &Server) -> Result<(), String> {
    honoured(&server.chat(json!({ "n": 2 }))?, |reply| {
        ensure(reply["choices"].as_array().is_some_and(|choices| choices.len() == 2), "there are not two choices")
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

fn no_tool(server: &Server) -> Result<(), String> {
    honoured(&server.chat(weather("none"))?, |reply| {
        let calls = &reply["choices"][0]["message"]["tool_calls"];
        ensure(calls.as_array().is_none_or(Vec::is_empty), "there are calls")
    })
}

fn required_tool(server: &Server) -> Result<(), String> {
    honoured(&server.chat(weather("required"))?, |reply| {
        let call = &reply["choices"][0]["message"]["tool_calls"][0];
        ensure(call["id"].is_string() && call["type"] == "function", "there is no call")?;
        ensure(call["function"]["name"] == "get_weather", "the call is of another function")?;
        arguments(call["function"]["arguments"].as_str().unwrap_or_default())
    })
}

fn streamed_tool(server: &Server) -> Result<(), String> {
    let mut asked = weather("required");
    asked["stream"] = json!(true);
    let reply = server.chat(asked)?;
    if reply.status != 200 {
        return reply.refusal();
    }
    let chunks = reply.chunks()?;
    let pieces = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array()).flatten();
    let pieces: Vec<&Json> = pieces.collect();
    let first = pieces.first().ok_or("there is no call")?;
    ensure(first["id"].is_string() && first["function"]["name"].is_string(), "the first piece has no id or name")?;
    ensure(
        pieces.iter().all(|piece| piece["index"].is_u64() && piece["function"].is_object()),
        "a piece lacks index or function",
    )?;
    let said = pieces.iter().filter(|piece| piece["index"] == 0);
    arguments(&said.filter_map(|piece| piece["function"]["arguments"].as_str()).collect::<String>())
}

fn arguments(text: &str) -> Result<(), String> {
    let read: Option<Json> = serde_json::from_str(text).ok();
    ensure(read.is_some_and(|arguments| arguments["city"].is_string()), "the arguments are no JSON with the city")
}

fn json_object(server: &Server) -> Result<(), String> {
    let asked = json!({
        "messages": [{ "role": "user", "content": "Name a colour, as JSON." }],
        "response_format": { "type": "json_object" },
        "max_tokens": 200,
    });
    honoured(&server.chat(asked)?, |reply| {
        let choice = &reply["choices"][0];
        let content = choice["message"]["content"].as_str().unwrap_or_default();
        let is_object = serde_json::from_str::<Json>(content).is_ok_and(|json| json.is_object());
        // What is cut short is a beginning of one.
        let is_beginning = choice["finish_reason"] == "length" && content.trim_start().starts_with('{');
        ensure(is_object || is_beginning, "the text is no JSON object")
    })
}

fn logprobs(server: &Server) -> Result<(), String> {
    honoured(&server.chat(json!({ "logprobs": true, "top_logprobs": 2 }))?, |reply| {
        let first = &reply["choices"][0]["logprobs"]["content"][0];
        ensure(first["token"].is_string() && first["logprob"].is_number(), "there are none")?;
        ensure(first["top_logprobs"].as_array().is_some_and(|top| top.len() == 2), "there are not two top_logprobs")
    })
}

fn unknown_model(server: &Server) -> Result<(), String> {
    let reply = server.chat(json!({ "model": "no/such-model" }))?;
    reply.refusal()?;
    ensure(reply.status == 404, "the status is not 404")
}

fn no_json(server: &Server) -> Result<(), String> {
    ["{", "[]", "", "{\"model\": 1} x"].iter().try_for_each(|body| {
        let reply = server.post("/chat/completions", "application/json", body)?;
        reply.refusal().map_err(|why| format!("{body:?}: {why}"))
    })
}

fn wrong_values(server: &Server) -> Result<(), String> {
    let fields = [
        json!({ "temperature": "hot" }),
        json!({ "temperature": -1 }),
        json!({ "max_tokens": 0 }),
        json!({ "top_p": 1.5 }),
        json!({ "stream": 1 }),
        json!({ "messages": "Hi" }),
        json!({ "messages": [{ "role": "clown", "content": "Hi" }] }),
    ];
    fields.iter().try_for_each(|field| server.chat(field.clone())?.refusal().map_err(|why| format!("{field}: {why}")))
}

fn no_messages(server: &Server) -> Result<(), String> {
    server.chat(json!({ "messages": null }))?.refusal()?;
    server.chat(json!({ "messages": [] }))?.refusal()
}

fn unknown_path(server: &Server) -> Result<(), String> {
    ensure(server.get("/no/such/path")?.status == 404, "the status is not 404")
}

fn leaver(server: &Server) -> Result<(), String> {
    server.leave()?;
    text(&server.chat(json!({}))?).map(drop)
}

/// What is not refused must be done.
fn honoured(reply: &Reply, done: impl FnOnce(&Json) -> Result<(), String>) -> Result<(), String> {
    if reply.status == 200 { done(&reply.json()?) } else { reply.refusal() }
}

fn text(reply: &Reply) -> Result<String, String> {
    let reply = reply.good()?;
    let text = reply["choices"][0]["message"]["content"].as_str();
    text.map(str::to_owned).ok_or_else(|| "there is no text".to_owned())
}

fn same(is: &str, expect: &str) -> Result<(), String> {
    if is == expect { Ok(()) } else { Err(format!("{:?}, expected {:?}", shortened(is), shortened(expect))) }
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}
