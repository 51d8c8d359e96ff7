//! The capabilities of a chat template. No file states them, so they are found by rendering probes.

use std::cell::RefCell;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Result;
use crate::function::{Arguments, SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, Value};
use crate::message::{ChatMessage, ChatMessageContent};
use crate::notation::FunctionCallParser;
use crate::prompt::content_forms::{self, ContentForms};
use crate::prompt::roles::{CALL_ID, RoleForms, answered};
use crate::prompt::segments::joined;
use crate::prompt::{calls, template};
use crate::tokenizer::Segment;

/// What a template prints, and the form in which it takes its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Capabilities {
    /// How functions are presented; `None` if the template does not support them.
    pub(super) tools: Option<ToolForm>,
    /// Whether functions are given all members, and not only those that they were given with.
    pub(super) completes_functions: bool,
    /// How calls are passed to the template; `None` if the template ignores them.
    pub(super) calls: Option<CallForm>,
    /// The notation in which calls are printed; `None` if it is unknown.
    #[serde(serialize_with = "put_name", deserialize_with = "named")]
    pub(super) printed: Option<FunctionCallParser>,
    /// How system messages and results are passed to the template.
    pub(super) roles: RoleForms,
    /// Whether the template prints a placeholder for images.
    pub(super) images: bool,
    /// Whether it prints one for sound.
    pub(super) sounds: bool,
    /// The form in which the template takes the text of messages.
    pub(super) content: ContentForms,
}

fn put_name<S: Serializer>(parser: &Option<FunctionCallParser>, serializer: S) -> Result<S::Ok, S::Error> {
    parser.map(|parser| parser.names()[0]).serialize(serializer)
}

fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<FunctionCallParser>, D::Error> {
    let unknown = || serde::de::Error::custom("a notation of this release");
    let name = Option::<String>::deserialize(deserializer)?;
    name.map(|name| FunctionCallParser::named(&name).ok_or_else(unknown)).transpose()
}

/// How the functions of a conversation reach the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ToolForm {
    /// In the template's variable `tools`.
    Given(ToolListForm),
    /// In the key `tools` of the system message, as a JSON array of bare functions.
    Carried,
    /// Appended to the system message as a list, because the template does not support functions.
    Inserted(ToolListForm),
}

/// The form of the entries in the tool list of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ToolListForm {
    /// `{"name", "description", "parameters"}`, as LFM2's prompts have them.
    Bare,
    /// `{"type": "function", "function": {…}}`, as chat completions have them.
    Wrapped,
}

/// How the calls of a message are passed to the template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallForm {
    /// Which ids calls and results have.
    pub(super) ids: CallIdForm,
    /// Whether a message has one call at most, because the template refuses or ignores further ones.
    pub(super) single: bool,
    /// Whether string arguments are passed as objects that print as Python literals, because the template would put quotes
    /// around a string without escaping the quotes inside.
    pub(super) literals: bool,
    /// Whether arguments are passed as JSON text, because the template joins them to strings.
    pub(super) as_text: bool,
    /// Whether calls are in a message without any text, whose content is none, because the template prints no others.
    pub(super) alone: bool,
}

/// The ids of calls and results in a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CallIdForm {
    /// None: the template prints no ids, or only if there are some.
    #[default]
    Absent,
    /// The ids in the history.
    Own,
    /// New ones, of nine letters and digits.
    Created,
}

impl Capabilities {
    /// What is assumed of a template before it is probed.
    pub(super) const NONE: Self = Self {
        tools: None,
        completes_functions: false,
        calls: None,
        printed: None,
        roles: RoleForms::USUAL,
        images: true,
        sounds: true,
        content: ContentForms::USUAL,
    };

    /// Probes a template. `render` renders a prompt under the assumption of some capabilities.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] if the template cannot print the text of messages.
    pub(super) fn find(
        source: &str,
        has_call_tokens: bool,
        render: impl Fn(Self, &[ChatMessage]) -> Result<Vec<Segment>>,
    ) -> Result<Self> {
        let known: RefCell<Vec<RenderedProbe>> = RefCell::default();
        // Some histories are rendered under the same assumptions more than once.
        let render = |assumed: Self, messages: &[ChatMessage]| {
            let is_same = |probe: &&RenderedProbe| probe.assumed == assumed && probe.messages == messages;
            let before = known.borrow().iter().find(is_same).map(|probe| probe.prompt.clone());
            before.unwrap_or_else(|| {
                let prompt = render(assumed, messages);
                known.borrow_mut().push(RenderedProbe { assumed, messages: messages.to_vec(), prompt: prompt.clone() });
                prompt
            })
        };
        let prompt = |assumed: Self, messages: &[ChatMessage]| render(assumed, messages).map(|prompt| joined(&prompt));
        let content = ContentForms::find(|content, messages| prompt(Self { content, ..Self::NONE }, messages).ok());
        let none = Self { content, ..Self::NONE };
        content_forms::check(source, prompt(none, &content_forms::question()))?;
        let rendered_call = |form: CallForm| render(Self { calls: Some(form), ..none }, &called(&["probe_call"])).ok();
        let shows_call =
            |form: &CallForm| rendered_call(*form).is_some_and(|prompt| joined(&prompt).contains("probe_call"));
        let with_calls =
            |form: CallForm, messages: &[ChatMessage]| prompt(Self { calls: Some(form), ..none }, messages);
        // Ids are needed where the template refuses calls without, prints an empty place for them, or looks something up by them.
        let needs_ids = |form: CallForm, messages: &[ChatMessage]| {
            let own = CallForm { ids: CallIdForm::Own, ..form };
            match (with_calls(form, messages), with_calls(own, messages)) {
                (Ok(without), Ok(with)) => {
                    without != with && (without == with.replace(CALL_ID, "") || !with.contains(CALL_ID))
                }
                (without, with) => without.is_err() && with.is_ok(),
            }
        };
        let forms =
            [(false, false), (false, true), (true, false), (true, true)].into_iter().flat_map(|(as_text, alone)| {
                [CallIdForm::Absent, CallIdForm::Own, CallIdForm::Created].map(|ids| CallForm {
                    ids,
                    as_text,
                    alone,
                    ..CallForm::default()
                })
            });
        let plain = forms.into_iter().find(shows_call).map(|mut form| {
            let histories: [&[ChatMessage]; 3] = [&answered("a"), &called(&["probe_call"]), &answered_twice()];
            if form.ids == CallIdForm::Absent && histories.into_iter().any(|messages| needs_ids(form, messages)) {
                form.ids = CallIdForm::Own;
            }
            let [one, two] = [&["probe_call"][..], &["probe_call", "probe_second"]].map(called);
            let two = with_calls(form, &two).ok();
            form.single = two.is_none() || two == with_calls(form, &one).ok();
            form
        });
        let read_back = plain.and_then(|plain| {
            let literals = CallForm { literals: true, ..plain };
            let read_back = |form| Some((form, calls::printed(&rendered_call(form)?, AWKWARD)?));
            [plain, literals].into_iter().find_map(read_back)
        });
        let calls = read_back.map(|(form, _)| form).or(plain);
        let printed = read_back.map(|(_, parser)| parser);
        let roles = RoleForms::find(|roles, messages| prompt(Self { calls, roles, ..none }, messages).ok());
        // LFM2's prompts have bare function objects, all others the wrapped form of chat completions.
        use ToolListForm::{Bare, Wrapped};
        let [first, second] = if source.contains("List of tools") { [Bare, Wrapped] } else { [Wrapped, Bare] };
        let forms = [ToolForm::Given(first), ToolForm::Given(second), ToolForm::Carried, ToolForm::Inserted(Bare)];
        let with_tools = |form: ToolForm| prompt(Self { tools: Some(form), roles, ..none }, &offer());
        let shows_tools = |form: &ToolForm| with_tools(*form).is_ok_and(|prompt| prompt.contains(TOOL));
        // A template that uses an unknown filter for functions offers them: the error is reported when functions are given.
        let fails_at_tools = || with_tools(forms[0]).is_err_and(|err| template::lacks_feature(&err));
        let tools = match forms[..3].iter().copied().find(shows_tools) {
            None if fails_at_tools() => Some(forms[0]),
            None if has_call_tokens => Some(forms[3]).filter(shows_tools),
            found => found,
        };
        let shows = |content: ChatMessageContent| shows_part(content, |messages| render(none, messages).ok());
        let (images, sounds) =
            (shows(ChatMessageContent::Image(Vec::new())), shows(ChatMessageContent::Audio(Vec::new())));
        Ok(Self { tools, calls, printed, roles, images, sounds, ..none })
    }
}

/// A probe and its result.
struct RenderedProbe {
    assumed: Capabilities,
    messages: Vec<ChatMessage>,
    prompt: Result<Vec<Segment>>,
}

const TOOL: &str = "probe_tool";
/// A string that needs escapes in every notation.
const AWKWARD: &str = "it's \"so\" \\ \n";

fn offer() -> [ChatMessage; 2] {
    // Some templates ignore functions without parameters.
    let parameter = SdkFunctionParameter::new("a", SdkFunctionParameterType::string(), "");
    let function = SdkFunction::new(TOOL, "a", vec![parameter]);
    [ChatMessage::with_functions(vec![function]), ChatMessage::user("a")]
}

/// A reply with calls of these names.
fn called(names: &[&str]) -> [ChatMessage; 2] {
    let call = |name: &&str| SdkFunctionCall {
        name: (*name).to_owned(),
        arguments: Arguments::from([("a".to_owned(), Value::from(AWKWARD))]),
        call_id: CALL_ID.to_owned(),
        ..Default::default()
    };
    let mut reply = ChatMessage::assistant("");
    reply.function_calls = Some(names.iter().map(call).collect());
    [ChatMessage::user("a"), reply]
}

/// Two calls and their results.
fn answered_twice() -> Vec<ChatMessage> {
    let [question, mut reply] = called(&["probe_call", "probe_second"]);
    let calls = reply.function_calls.iter_mut().flatten();
    let results = calls.zip(1..).map(|(call, number)| {
        call.call_id = format!("{CALL_ID}{number}");
        ChatMessage { tool_call_id: Some(call.call_id.clone()), ..ChatMessage::tool("a") }
    });
    let results: Vec<ChatMessage> = results.collect();
    [question, reply].into_iter().chain(results).collect()
}

/// Whether an image or sound in a message changes the prompt by more than a printed description of the content part.
fn shows_part(part: ChatMessageContent, render: impl Fn(&[ChatMessage]) -> Option<Vec<Segment>>) -> bool {
    let text = ChatMessage::user("probe_text");
    let mut with_part = text.clone();
    with_part.content.insert(0, part);
    let rendered = |message: ChatMessage| render(&[message]).map(|prompt| joined(&prompt));
    match (rendered(with_part), rendered(text)) {
        (Some(with_part), Some(text)) => {
            let is_description = with_part.contains("\"type\"") || with_part.contains("'type'");
            with_part != text && with_part.contains("probe_text") && !is_description
        }
        _ => false,
    }
}
