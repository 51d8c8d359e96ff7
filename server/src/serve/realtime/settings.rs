//! What `session.update` and `response.create` can set, and how a session repeats it.

use causerie::{GenerationOptions, SdkFunction, SpeechMode, ToolChoice};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::realtime::format::{EventSound, RATE};
use crate::serve::request::fields::{RequestFields, read_value};
use crate::serve::request::must_be;
use crate::serve::request::namespaces::joined_name;
use crate::serve::request::tools::{FunctionChoice, FunctionTools, read_choice, read_tools};

/// What the model of a session can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    pub(super) hears: bool,
    pub(super) speaks: bool,
    /// Whether another model writes down what is said.
    pub(super) transcribes: bool,
}

/// How replies are made: the settings of a session, which one response may replace.
#[derive(Clone, Debug)]
pub(super) struct ReplySettings {
    pub(super) instructions: String,
    /// Whether replies are spoken.
    pub(super) is_spoken: bool,
    tools: Vec<Json>,
    tool_choice: Json,
    max_tokens: Option<usize>,
    temperature: Option<f64>,
    parallel_calls: Option<bool>,
    pub(super) voice: Json,
    pub(super) sound: EventSound,
}

/// The settings of a session.
#[derive(Clone, Debug)]
pub(super) struct SessionSettings {
    pub(super) reply: ReplySettings,
    pub(super) input: EventSound,
    /// `None` if the client says where turns end.
    pub(super) turns: Option<TurnSettings>,
    /// Set if what is said is to be written down.
    pub(super) transcription: Option<TranscriptionSettings>,
    /// Whether the session only transcribes.
    pub(super) is_transcription: bool,
}

/// How turns are found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TurnSettings {
    pub(super) threshold: f32,
    pub(super) prefix_ms: u32,
    pub(super) silence_ms: u32,
    /// Whether the end of a turn creates a response.
    pub(super) creates_response: bool,
    /// Whether speech ends a response that is under way.
    pub(super) interrupts: bool,
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self { threshold: 0.5, prefix_ms: 300, silence_ms: 500, creates_response: true, interrupts: true }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct TranscriptionSettings {
    model: Option<String>,
    pub(super) language: Option<String>,
    pub(super) prompt: Option<String>,
}

#[derive(Debug, Deserialize)]
struct TurnFields {
    r#type: Option<String>,
    threshold: Option<f32>,
    prefix_padding_ms: Option<u32>,
    silence_duration_ms: Option<u32>,
    create_response: Option<bool>,
    interrupt_response: Option<bool>,
}

impl SessionSettings {
    pub(super) fn new(abilities: Abilities, is_transcription: bool) -> Self {
        let reply = ReplySettings {
            instructions: String::new(),
            is_spoken: abilities.speaks,
            tools: Vec::new(),
            tool_choice: json!("auto"),
            max_tokens: None,
            temperature: None,
            parallel_calls: None,
            voice: Json::Null,
            sound: EventSound::USUAL,
        };
        let turns = (abilities.hears || abilities.transcribes).then(TurnSettings::default);
        Self { reply, input: EventSound::USUAL, turns, transcription: None, is_transcription }
    }

    /// Applies the fields of a session that are given; the others stay. After an error, nothing may be used of the result.
    pub(super) fn update(&mut self, session: &Map<String, Json>, abilities: Abilities) -> Result<(), HttpError> {
        self.reply.update("session", session, abilities)?;
        match session.get("type").and_then(Json::as_str) {
            None => {}
            Some(kind @ ("realtime" | "transcription")) => self.is_transcription = kind == "transcription",
            Some(_) => return Err(wrong("session.type", "realtime or transcription", &session["type"])),
        }
        let input = session.get("audio").and_then(|audio| audio.get("input"));
        // Older clients have these fields in the session itself.
        let field = |name: &str, older: &'static str| match input.and_then(|input| input.get(name)) {
            Some(value) => Some((format!("session.audio.input.{name}"), value)),
            None => session.get(older).map(|value| (format!("session.{older}"), value)),
        };
        if let Some((place, format)) = field("format", "input_audio_format") {
            self.input = EventSound::read(&place, format)?;
        }
        if let Some((place, turns)) = field("turn_detection", "turn_detection") {
            self.turns = read_turns(&place, turns)?;
        }
        if let Some((place, asked)) = field("transcription", "input_audio_transcription") {
            self.transcription = if asked.is_null() { None } else { Some(read_value(&place, asked.clone())?) };
        }
        Ok(())
    }

    /// The session as its events show it.
    pub(super) fn json(&self, id: &str, model: &str, abilities: Abilities) -> Json {
        let turn_detection = self.turns.as_ref().map(|turns| {
            json!({
                "type": "server_vad",
                "threshold": turns.threshold,
                "prefix_padding_ms": turns.prefix_ms,
                "silence_duration_ms": turns.silence_ms,
                "create_response": turns.creates_response,
                "interrupt_response": turns.interrupts,
            })
        });
        let transcription = self
            .transcription
            .as_ref()
            .filter(|_| abilities.transcribes)
            .map(|asked| json!({ "model": asked.model, "language": asked.language, "prompt": asked.prompt }));
        let input = json!({
            "format": self.input.json(),
            "transcription": transcription,
            "noise_reduction": null,
            "turn_detection": turn_detection,
        });
        if self.is_transcription {
            let audio = json!({ "input": input });
            return json!({ "id": id, "object": "realtime.transcription_session", "type": "transcription", "audio": audio });
        }
        let mut session = self.reply.json();
        session["audio"]["input"] = input;
        let more = json!({ "id": id, "object": "realtime.session", "type": "realtime", "model": model });
        if let (Json::Object(session), Json::Object(more)) = (&mut session, more) {
            session.extend(more);
        }
        session
    }
}

impl ReplySettings {
    /// Applies the fields of a session or a response that are given.
    pub(super) fn update(
        &mut self,
        place: &str,
        fields: &Map<String, Json>,
        abilities: Abilities,
    ) -> Result<(), HttpError> {
        let at = |name: &str| format!("{place}.{name}");
        let given = |name: &str| fields.get(name).filter(|value| !value.is_null());
        if let Some(instructions) = given("instructions") {
            self.instructions = read_value(&at("instructions"), instructions.clone())?;
        }
        if let Some(modalities) = given("output_modalities").or_else(|| given("modalities")) {
            let names: Vec<String> = read_value(&at("output_modalities"), modalities.clone())?;
            if names.is_empty() || names.iter().any(|name| !["text", "audio"].contains(&name.as_str())) {
                return Err(wrong(&at("output_modalities"), "text or audio", modalities));
            }
            // A model that does not speak answers in text.
            self.is_spoken = abilities.speaks && names.iter().any(|name| name == "audio");
        }
        if let Some(tools) = given("tools") {
            self.tools = read_value(&at("tools"), tools.clone())?;
        }
        if let Some(choice) = given("tool_choice") {
            self.tool_choice = choice.clone();
        }
        if let Some(limit) = given("max_output_tokens").or_else(|| given("max_response_output_tokens")) {
            self.max_tokens = match limit.as_u64() {
                Some(limit @ 1..) => Some(usize::try_from(limit).unwrap_or(usize::MAX)),
                _ if limit == "inf" => None,
                _ => return Err(wrong(&at("max_output_tokens"), "a number from 1 on or inf", limit)),
            };
        }
        if let Some(temperature) = given("temperature") {
            self.temperature = Some(read_value(&at("temperature"), temperature.clone())?);
        }
        if let Some(is_parallel) = given("parallel_tool_calls") {
            self.parallel_calls = Some(read_value(&at("parallel_tool_calls"), is_parallel.clone())?);
        }
        let output = fields.get("audio").and_then(|audio| audio.get("output"));
        let output = |name: &str| output.and_then(|output| output.get(name)).filter(|value| !value.is_null());
        if let Some(format) = output("format").or_else(|| given("output_audio_format")) {
            let place = at("audio.output.format");
            self.sound = EventSound::read(&place, format)?;
            if let EventSound::Pcm { rate } = self.sound
                && rate != RATE
            {
                return Err(unsupported(&place, format!("{place}.rate must be {RATE}")));
            }
        }
        if output("speed").is_some_and(|speed| speed.as_f64() != Some(1.0)) {
            let place = at("audio.output.speed");
            return Err(unsupported(&place, format!("{place} must be 1: the model decides how fast it speaks")));
        }
        if let Some(voice) = output("voice").or_else(|| given("voice")) {
            self.voice = voice.clone();
        }
        self.apply().map(|_| ())
    }

    /// The options of a reply, and the functions that it may call.
    pub(super) fn apply(&self) -> Result<(GenerationOptions, Vec<SdkFunction>), HttpError> {
        let mut options = GenerationOptions {
            max_tokens: self.max_tokens,
            temperature: self.temperature.map(|temperature| temperature as f32), // checked below
            ..GenerationOptions::default()
        };
        options.speech_temperature = options.temperature; // of sound as of text
        // The published prompts for one task, as `Perform TTS. …`, have their own order of text and sound.
        options.speech_mode = match (self.is_spoken, self.instructions.trim_start().starts_with("Perform ")) {
            (false, _) => SpeechMode::Off,
            (true, true) => SpeechMode::Auto,
            (true, false) => SpeechMode::Interleaved,
        };
        let fields = RequestFields::new(Map::new());
        let tools = FunctionTools {
            functions: read_tools(&fields, "tools", Some(self.tools.clone()))?,
            choice: self.choice()?,
            parallel: self.parallel_calls,
        };
        let functions = tools.apply(&mut options)?;
        let options = crate::serve::request::sampling::checked(options)?;
        Ok((options, functions))
    }

    fn choice(&self) -> Result<FunctionChoice, HttpError> {
        let choice = &self.tool_choice;
        let read = read_choice(choice, joined_name, &choice["mode"], &choice["tools"]);
        // Clients leave `required` in place when they take the tools away.
        let is_idle = self.tools.is_empty();
        let read = read.map(|read| if is_idle { FunctionChoice::from(ToolChoice::Auto) } else { read });
        read.ok_or_else(|| wrong("tool_choice", "auto, none, required or a function", choice))
    }

    /// The settings as sessions and responses show them.
    fn json(&self) -> Json {
        json!({
            "output_modalities": self.modalities(),
            "instructions": self.instructions,
            "tools": self.tools,
            "tool_choice": self.tool_choice,
            "max_output_tokens": self.max_tokens(),
            "audio": { "output": self.output() },
        })
    }

    pub(super) fn modalities(&self) -> Json {
        json!([if self.is_spoken { "audio" } else { "text" }])
    }

    pub(super) fn max_tokens(&self) -> Json {
        self.max_tokens.map_or_else(|| json!("inf"), |limit| json!(limit))
    }

    pub(super) fn output(&self) -> Json {
        json!({ "format": self.sound.json(), "voice": self.voice, "speed": 1.0 })
    }
}

/// `null` and `false` say that the client finds turns itself.
fn read_turns(place: &str, turns: &Json) -> Result<Option<TurnSettings>, HttpError> {
    if turns.is_null() || *turns == false {
        return Ok(None);
    }
    let fields: TurnFields = read_value(place, turns.clone())?;
    // What is said has no influence here; `semantic_vad` is as good as this server can do.
    if !matches!(fields.r#type.as_deref(), None | Some("server_vad" | "semantic_vad")) {
        return Err(wrong(&format!("{place}.type"), "server_vad or null", &turns["type"]));
    }
    let usual = TurnSettings::default();
    let turns = TurnSettings {
        threshold: fields.threshold.unwrap_or(usual.threshold),
        prefix_ms: fields.prefix_padding_ms.unwrap_or(usual.prefix_ms),
        silence_ms: fields.silence_duration_ms.unwrap_or(usual.silence_ms),
        creates_response: fields.create_response.unwrap_or(usual.creates_response),
        interrupts: fields.interrupt_response.unwrap_or(usual.interrupts),
    };
    let limits = [
        ("threshold", (0.0..=1.0).contains(&turns.threshold), "0 and 1"),
        ("prefix_padding_ms", turns.prefix_ms <= 10_000, "0 and 10000"),
        ("silence_duration_ms", (10..=60_000).contains(&turns.silence_ms), "10 and 60000"),
    ];
    match limits.iter().find(|(_, is_within, _)| !is_within) {
        Some((name, _, range)) => {
            let place = format!("{place}.{name}");
            Err(HttpError::value(&place, format!("{place} must be between {range}")).at_exactly(&place))
        }
        None => Ok(Some(turns)),
    }
}

fn wrong(place: &str, expected: &str, found: &Json) -> HttpError {
    HttpError::value(place, format!("{place} {}", must_be(expected, found))).at_exactly(place)
}

fn unsupported(place: &str, message: String) -> HttpError {
    HttpError::unsupported(place, message).at_exactly(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::dialect::Dialect;

    const ALL: Abilities = Abilities { hears: true, speaks: true, transcribes: true };

    fn updated(session: &Json, abilities: Abilities) -> Result<SessionSettings, String> {
        let mut settings = SessionSettings::new(abilities, false);
        let result = settings.update(session.as_object().unwrap(), abilities);
        let message = |error: HttpError| error.json(Dialect::Realtime, None)["error"]["message"].to_string();
        result.map(|()| settings).map_err(message)
    }

    #[test]
    fn a_session_keeps_what_an_update_does_not_give() {
        let mut settings = updated(
            &json!({
                "instructions": "Be brief.",
                "max_output_tokens": 50,
                "audio": { "input": { "turn_detection": { "type": "server_vad", "silence_duration_ms": 200 } } },
                "tools": [{ "type": "function", "name": "now" }],
                "tool_choice": "required",
            }),
            ALL,
        )
        .unwrap();
        settings.update(json!({ "output_modalities": ["text"] }).as_object().unwrap(), ALL).unwrap();
        let shown = settings.json("sess_1", "m", ALL);
        assert_eq!(shown["instructions"], "Be brief.");
        assert_eq!(shown["audio"]["input"]["turn_detection"]["silence_duration_ms"], 200);
        assert_eq!((&shown["output_modalities"], &shown["max_output_tokens"]), (&json!(["text"]), &json!(50)));
        let (options, functions) = settings.reply.apply().unwrap();
        assert_eq!((options.speech_mode, options.tool_choice), (SpeechMode::Off, ToolChoice::Required));
        assert_eq!(functions[0].name, "now");
        settings.update(json!({ "audio": { "input": { "turn_detection": null } } }).as_object().unwrap(), ALL).unwrap();
        assert_eq!(settings.turns, None);
    }

    #[test]
    fn names_of_older_clients_are_read() {
        let settings = updated(
            &json!({
                "modalities": ["text", "audio"],
                "input_audio_format": "pcm16",
                "output_audio_format": "pcm16",
                "turn_detection": { "type": "server_vad", "threshold": 0.9 },
                "input_audio_transcription": { "model": "whisper-1" },
                "max_response_output_tokens": "inf",
                "voice": "alloy",
            }),
            ALL,
        )
        .unwrap();
        assert_eq!((settings.reply.is_spoken, settings.turns.unwrap().threshold), (true, 0.9));
        assert_eq!((settings.transcription.is_some(), settings.reply.voice), (true, json!("alloy")));
    }

    #[test]
    fn telephones_are_read_by_both_names() {
        let newer = json!({
            "audio": { "input": { "format": { "type": "audio/pcmu" } }, "output": { "format": { "type": "audio/pcma", "rate": 8000 } } },
        });
        let older = json!({ "input_audio_format": "g711_ulaw", "output_audio_format": "g711_alaw" });
        for session in [newer, older] {
            let shown = updated(&session, ALL).unwrap().json("s", "m", ALL);
            let formats = ["input", "output"].map(|side| shown["audio"][side]["format"].clone());
            assert_eq!(formats, [json!({ "type": "audio/pcmu" }), json!({ "type": "audio/pcma" })]);
        }
    }

    #[test]
    fn a_model_that_does_not_speak_answers_in_text() {
        let mute = Abilities { speaks: false, ..ALL };
        let settings = updated(&json!({ "output_modalities": ["audio"] }), mute).unwrap();
        assert_eq!(settings.json("s", "m", mute)["output_modalities"], json!(["text"]));
    }

    #[test]
    fn a_wrong_value_is_refused_by_its_place() {
        for (session, message) in [
            (json!({ "type": "other" }), r#""session.type must be realtime or transcription, found \"other\"""#),
            (json!({ "instructions": 5 }), r#""session.instructions must be a string, found 5""#),
            (
                json!({ "output_modalities": ["smell"] }),
                r#""session.output_modalities must be text or audio, found [\"smell\"]""#,
            ),
            (
                json!({ "max_output_tokens": 0 }),
                r#""session.max_output_tokens must be a number from 1 on or inf, found 0""#,
            ),
            (
                json!({ "audio": { "input": { "format": { "type": "audio/opus" } } } }),
                r#""session.audio.input.format.type must be audio/pcm, audio/pcmu or audio/pcma, found \"audio/opus\"""#,
            ),
            (
                json!({ "audio": { "input": { "format": { "type": "audio/pcmu", "rate": 16_000 } } } }),
                r#""session.audio.input.format.rate must be 8000, found 16000""#,
            ),
            (
                json!({ "audio": { "input": { "format": { "type": "audio/pcm", "rate": 7 } } } }),
                r#""session.audio.input.format.rate must be between 8000 and 48000, found 7""#,
            ),
            (
                json!({ "audio": { "output": { "format": { "type": "audio/pcm", "rate": 16_000 } } } }),
                r#""session.audio.output.format.rate must be 24000""#,
            ),
            (
                json!({ "audio": { "input": { "turn_detection": { "threshold": 2 } } } }),
                r#""session.audio.input.turn_detection.threshold must be between 0 and 1""#,
            ),
            (json!({ "turn_detection": 3 }), r#""session.turn_detection must be an object, found 3""#),
        ] {
            assert_eq!(updated(&session, ALL).unwrap_err(), message);
        }
    }
}
