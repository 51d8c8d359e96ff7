//! The scenarios of `fixtures/scenarios`, played through the Rust API; the README beside them describes their format.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use causerie::testing::ScriptedModel;
use causerie::{
    CancelHandle, ChatMessage, Completion, ContextPolicy, Conversation, FinishReason, FunctionCallParser,
    FunctionHandlers, FunctionResult, GenerationOptions, MessageResponse, ModelRunner, OnBusy, OnCancel, RejectedCall,
    ReplySection, ResponseStream, RoundOptions, SdkError, SdkFunction, SdkFunctionCall, Strictness, TokenLogprob,
    Value, functions_from_json, messages_from_json, messages_to_json, read_json,
};

use serde_json::Value as Json;

use crate::{fixture, repository};

#[test]
fn every_scenario_gives_its_trace() {
    let folder = fixture("scenarios");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let mut failures = Vec::new();
    for file in &files {
        let scenario = read_json(&fs::read_to_string(file).unwrap()).unwrap_or_else(|| panic!("{file:?} must be JSON"));
        let mut player = Player::new(&scenario);
        player.play(items(&scenario, "steps"));
        let name = file.file_stem().unwrap().to_string_lossy();
        failures.extend(player.failures.into_iter().map(|failure| format!("{name}: {failure}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(files.len() >= 20, "{} scenarios", files.len());
}

struct Player {
    runner: ModelRunner,
    conversation: Conversation,
    options: GenerationOptions,
    counts: bool,
    failures: Vec<String>,
}

impl Player {
    fn new(scenario: &Value) -> Self {
        let runner = match get(scenario, "script") {
            Some(script) => ScriptedModel::from_json(&script.to_string()).unwrap().load().unwrap(),
            None => ModelRunner::load(repository(text(scenario, "model"))).unwrap(),
        };
        let conversation = runner.create_conversation(get(scenario, "system").map_or("", as_text));
        conversation.register_functions(functions(items(scenario, "functions"))).unwrap();
        let options = options(GenerationOptions::default(), get(scenario, "options"));
        let counts = get(scenario, "model").is_none_or(|model| as_text(model) != "models/demo.gguf");
        Self { runner, conversation, options, counts, failures: Vec::new() }
    }

    fn play(&mut self, steps: &[Value]) {
        for (index, step) in steps.iter().enumerate() {
            let (is, should) = match get(step, "trace") {
                Some(trace) => (Value::Array(self.reply(step)), trace.clone()),
                None => match get(step, "history") {
                    Some(history) => {
                        (read_json(&messages_to_json(&self.conversation.history())).unwrap(), history.clone())
                    }
                    None => {
                        let error = self.change(step).err().map(|err| kind(&err));
                        (error.map_or(Value::Null, Value::from), get(step, "error").cloned().unwrap_or(Value::Null))
                    }
                },
            };
            if sorted(&is) != sorted(&should) {
                self.failures.push(format!("step {index}\n  is     {}\n  should {}", sorted(&is), sorted(&should)));
            }
        }
    }

    /// A step without a reply.
    fn change(&mut self, step: &Value) -> Result<(), SdkError> {
        let Value::Object(entries) = step else { panic!("a step must be an object, found {step}") };
        let (what, value) = entries.first().unwrap();
        match (what.as_str(), value) {
            ("append", message) => self.conversation.append_to_history(read_message(message)?)?,
            ("register", tool) => {
                let tools = functions_from_json(&Value::Array(vec![tool.clone()]).to_string())?;
                self.conversation.register_functions(tools)?;
            }
            ("unregister", name) => drop(self.conversation.unregister_function(as_text(name))?),
            ("remove_last", _) => drop(self.conversation.remove_last_message()?),
            ("truncate", Value::Integer(count)) => self.conversation.truncate(usize::try_from(*count).unwrap())?,
            ("reopen", how) => self.conversation = self.reopened(as_text(how))?,
            _ => panic!("unknown step {what}"),
        }
        Ok(())
    }

    fn reopened(&self, how: &str) -> Result<Conversation, SdkError> {
        let history = self.conversation.history();
        Ok(match how {
            "history" => self.runner.create_conversation_from_history(history),
            "json" => self.runner.create_conversation_from_history(messages_from_json(&messages_to_json(&history))?),
            "fork" => self.conversation.fork(),
            "session" => {
                let path = std::env::temp_dir().join(format!("causerie-scenario-{}.session", std::process::id()));
                self.conversation.save_session(&path, true)?;
                let restored = self.runner.restore_session(&path);
                fs::remove_file(&path).unwrap();
                restored?
            }
            _ => panic!("cannot reopen from {how}"),
        })
    }

    /// The events of a reply.
    fn reply(&mut self, step: &Value) -> Vec<Value> {
        let options = options(self.options.clone(), get(step, "options"));
        let message = get(step, "send").map(|message| read_message(message).unwrap());
        let mut stream = self.stream(step, message, options);
        let (mut cancel_at, leave_at) = (get(step, "cancel_at"), get(step, "leave_at"));
        let mut trace = Trace { events: Vec::new(), counts: self.counts };
        loop {
            if leave_at.is_some_and(|text| as_text(text) == trace.text()) {
                drop(stream);
                break;
            }
            if cancel_at.is_some_and(|text| as_text(text) == trace.text()) {
                cancel_at = None;
                self.play(items(step, "meanwhile"));
                stream.cancel();
            }
            if !trace.take(&mut stream) {
                break;
            }
        }
        trace.events
    }

    /// The stream of a reply.
    fn stream(&self, step: &Value, message: Option<ChatMessage>, options: GenerationOptions) -> ResponseStream {
        let Some(Value::Object(scripts)) = get(step, "handlers") else {
            return match message {
                Some(message) => self.conversation.generate_response(message, options),
                None => self.conversation.continue_response(options),
            };
        };
        let cancel = Arc::new(OnceLock::<CancelHandle>::new());
        let mut handlers = FunctionHandlers::new().with(round_options(get(step, "rounds")));
        for (name, script) in scripts {
            let script = Mutex::new(VecDeque::from_iter(as_items(script).to_vec()));
            let cancel = Arc::clone(&cancel);
            handlers = handlers.on(name, move |call| {
                let act = script.lock().unwrap().pop_front().expect("no more calls than the script has");
                run(&act, call, || cancel.get().unwrap().cancel())
            });
        }
        let stream = match message {
            Some(message) => self.conversation.respond_with_functions(message, &handlers, options),
            None => self.conversation.continue_with_functions(&handlers, options),
        };
        cancel.set(stream.cancel_handle()).unwrap();
        stream
    }
}

/// What a handler does, once.
fn run(act: &Value, call: &SdkFunctionCall, cancel: impl Fn()) -> Result<Json, String> {
    let Value::Object(entries) = act else { panic!("an act is an object: {act}") };
    let json = |value: &Value| serde_json::from_str(&value.to_string()).unwrap();
    match entries.first().map(|(what, value)| (what.as_str(), value)) {
        Some(("returns", value)) => Ok(json(value)),
        Some(("fails", reason)) => Err(as_text(reason).to_owned()),
        Some(("echoes", _)) => Ok(json(&Value::Object(call.arguments.clone()))),
        Some(("cancels", _)) => {
            cancel();
            Ok(Json::Null)
        }
        Some(("hangs", _)) => loop {
            std::thread::park();
        },
        _ => panic!("no act {act}"),
    }
}

fn round_options(entries: Option<&Value>) -> RoundOptions {
    let mut rounds = RoundOptions::default();
    if let Some(Value::Object(entries)) = entries {
        for (name, value) in entries {
            match (name.as_str(), value) {
                ("max_rounds", Value::Integer(count)) => rounds.max_rounds = usize::try_from(*count).unwrap(),
                ("time_limit", Value::Number(seconds)) => rounds.time_limit = Some(Duration::from_secs_f64(*seconds)),
                ("in_parallel", flag) => rounds.in_parallel = *flag == Value::Bool(true),
                _ => panic!("no option {name}: {value}"),
            }
        }
    }
    rounds
}

/// What was seen of a reply.
struct Trace {
    events: Vec<Value>,
    counts: bool,
}

impl Trace {
    /// The next event; false after the last one.
    fn take(&mut self, stream: &mut ResponseStream) -> bool {
        let event = match stream.iter().next() {
            None => return false,
            Some(Ok(event)) => event,
            Some(Err(err)) => {
                self.events.push(object([("error", kind(&err).into()), ("reason", err.to_string().into())]));
                return true;
            }
        };
        match event {
            MessageResponse::Chunk(text) => self.add("text", text),
            MessageResponse::ReasoningChunk(text) => self.add("reasoning", text),
            MessageResponse::FunctionCalls(calls) => self.list("calls", calls.iter().map(call)),
            MessageResponse::FunctionCallsRejected(calls) => self.list("rejected", calls.iter().map(rejected)),
            MessageResponse::Logprobs(tokens) => self.list("logprobs", tokens.iter().map(logprob)),
            MessageResponse::FunctionResult(result) => self.events.push(function_result(result)),
            MessageResponse::RoundComplete(completion) => self.end("round", &completion),
            MessageResponse::Complete(completion) => self.end("complete", &completion),
            other => panic!("no scenario has {other:?}"),
        }
        true
    }

    /// Joins neighbours of one kind.
    fn add(&mut self, key: &str, text: String) {
        if let Some(Value::Object(last)) = self.events.last_mut()
            && let Some(Value::String(before)) = last.get_mut(key)
        {
            before.push_str(&text);
        } else {
            self.events.push(object([(key, text.into())]));
        }
    }

    fn list(&mut self, key: &str, items: impl Iterator<Item = Value>) {
        self.events.push(object([(key, Value::Array(items.collect()))]));
    }

    fn end(&mut self, key: &str, completion: &Completion) {
        let Completion { full_message, finish_reason, stop_sequence, stats, diagnostics, .. } = completion;
        let reason = match finish_reason {
            FinishReason::Stop => "stop",
            FinishReason::ToolCalls => "tool_calls",
            FinishReason::MaxTokens => "max_tokens",
            FinishReason::ExceedContext => "exceed_context",
            FinishReason::Interrupted => "interrupted",
            other => panic!("an unknown end: {other:?}"),
        };
        let message = read_json(&messages_to_json(std::slice::from_ref(full_message))).unwrap();
        let Value::Array(messages) = message else { panic!("messages are an array") };
        let mut event = vec![(key, reason.into()), ("message", messages[0].clone())];
        event.extend(stop_sequence.clone().map(|sequence| ("stop_sequence", sequence.into())));
        if !diagnostics.is_empty() {
            event.push((
                "diagnostics",
                Value::Array(diagnostics.iter().map(|found| found.code.code().into()).collect()),
            ));
        }
        if self.counts {
            let count = |number: usize| Value::Integer(number as i64);
            event.push(("prompt_tokens", count(stats.prompt_tokens)));
            event.push(("cached_prompt_tokens", count(stats.cached_prompt_tokens)));
            event.push(("completion_tokens", count(stats.completion_tokens)));
        }
        self.events.push(object(event));
    }

    /// All text so far.
    fn text(&self) -> String {
        self.events.iter().filter_map(|event| get(event, "text")).map(as_text).collect()
    }
}

fn call(call: &SdkFunctionCall) -> Value {
    let mut fields = vec![
        ("name", call.name.clone().into()),
        ("arguments", Value::Object(call.arguments.clone())),
        ("call_id", call.call_id.clone().into()),
        ("raw_text", call.raw_text.clone().into()),
    ];
    let mut codes = |key, codes: Vec<&str>| {
        if !codes.is_empty() {
            fields.push((key, Value::Array(codes.into_iter().map(Value::from).collect())));
        }
    };
    codes("repairs", call.repairs.iter().map(|repair| repair.code()).collect());
    codes("diagnostics", call.diagnostics.iter().map(|diagnostic| diagnostic.code.code()).collect());
    object(fields)
}

fn rejected(rejected: &RejectedCall) -> Value {
    let mut fields = vec![("reason", rejected.reason.code().into()), ("raw_text", rejected.raw_text.clone().into())];
    fields.extend(rejected.name.clone().map(|name| ("name", name.into())));
    object(fields)
}

fn logprob(token: &TokenLogprob) -> Value {
    let place = match token.place {
        ReplySection::Text => "text",
        ReplySection::Reasoning => "reasoning",
        ReplySection::Calls => "calls",
    };
    let alternatives = token.alternatives.iter().map(|token| token.text.clone().into()).collect();
    object([
        ("token", token.token.text.clone().into()),
        ("n_bytes", Value::Integer(token.token.bytes.len() as i64)),
        ("logprob", Value::Number(token.token.logprob)),
        ("place", place.into()),
        ("alternatives", Value::Array(alternatives)),
    ])
}

fn function_result(result: FunctionResult) -> Value {
    let mut fields = vec![("result", result.text.into())];
    fields.extend(result.name.map(|name| ("name", name.into())));
    fields.extend(result.call_id.map(|call_id| ("call_id", call_id.into())));
    fields.extend(result.is_error.then_some(("is_error", true.into())));
    object(fields)
}

fn options(mut options: GenerationOptions, entries: Option<&Value>) -> GenerationOptions {
    let Some(Value::Object(entries)) = entries else { return options };
    for (name, value) in entries {
        let count = || match value {
            Value::Integer(number) => usize::try_from(*number).unwrap(),
            _ => panic!("{name} must be an integer, found {value}"),
        };
        let float = || match value {
            Value::Number(number) => *number as f32,
            _ => panic!("{name} must be a float, found {value}"),
        };
        let flag = || *value == Value::Bool(true);
        match name.as_str() {
            "temperature" => options.temperature = Some(float()),
            "top_p" => options.top_p = Some(float()),
            "top_k" => options.top_k = Some(count()),
            "min_p" => options.min_p = Some(float()),
            "repetition_penalty" => options.repetition_penalty = Some(float()),
            "presence_penalty" => options.presence_penalty = Some(float()),
            "frequency_penalty" => options.frequency_penalty = Some(float()),
            "logprobs" => options.logprobs = Some(count()),
            "rng_seed" => options.seed = Some(count() as u64),
            "max_tokens" => options.max_tokens = Some(count()),
            "stop_on_repetition" => options.stop_on_repetition = Some(flag()),
            "stop_sequences" => {
                options.stop_sequences = as_items(value).iter().map(|text| as_text(text).to_owned()).collect();
            }
            "function_call_parser" => {
                options.function_call_parser = match value {
                    Value::Null => None,
                    value => match FunctionCallParser::named(as_text(value)) {
                        None => panic!("unknown parser {value}"),
                        named => named,
                    },
                }
            }
            "continue_final_message" => options.continue_final_message = flag(),
            "enable_thinking" => options.enable_thinking = flag(),
            "inline_thinking_tags" => options.inline_thinking_tags = flag(),
            "parser_strictness" => {
                options.parser_strictness =
                    one_of(value, [("recover", Strictness::Recover), ("strict", Strictness::Strict)]);
            }
            "on_cancel" => {
                options.on_cancel = one_of(
                    value,
                    [
                        ("keep_partial", OnCancel::KeepPartial),
                        ("drop_partial", OnCancel::DropPartial),
                        ("drop_turn", OnCancel::DropTurn),
                    ],
                );
            }
            "on_busy" => {
                options.on_busy =
                    one_of(value, [("error", OnBusy::Error), ("queue", OnBusy::Queue), ("replace", OnBusy::Replace)])
            }
            "context_policy" => {
                options.context_policy = one_of(
                    value,
                    [
                        ("error", ContextPolicy::Error),
                        ("slide", ContextPolicy::Slide { shrink_tool_results: false }),
                        ("shrink", ContextPolicy::Slide { shrink_tool_results: true }),
                    ],
                );
            }
            _ => panic!("no option {name}"),
        }
    }
    options
}

fn one_of<T, const N: usize>(value: &Value, choices: [(&str, T); N]) -> T {
    let choice = choices.into_iter().find(|(name, _)| *name == as_text(value));
    choice.unwrap_or_else(|| panic!("unknown value {value}")).1
}

/// The name of an error's kind, without its fields.
fn kind(err: &SdkError) -> String {
    format!("{:?}", err.kind()).chars().take_while(|character| character.is_alphanumeric()).collect()
}

fn read_message(message: &Value) -> Result<ChatMessage, SdkError> {
    Ok(messages_from_json(&Value::Array(vec![message.clone()]).to_string())?.remove(0))
}

fn functions(tools: &[Value]) -> Vec<SdkFunction> {
    functions_from_json(&Value::Array(tools.to_vec()).to_string()).unwrap()
}

fn get<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(entries) => entries.get(key),
        _ => None,
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    get(value, key).map_or_else(|| panic!("{key} is missing in {value}"), as_text)
}

/// The elements of an array that may be absent.
fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    get(value, key).map_or(&[], as_items)
}

fn as_items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        _ => panic!("an array was expected, found {value}"),
    }
}

fn as_text(value: &Value) -> &str {
    match value {
        Value::String(text) => text,
        _ => panic!("a string was expected, found {value}"),
    }
}

fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// A value with sorted keys, since their order does not matter.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let entries: BTreeMap<_, _> = entries.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        value => value.clone(),
    }
}
