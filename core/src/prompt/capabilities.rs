//! The capabilities of a chat template. No file states them, so they are found by rendering probes.

use crate::function::{Arguments, SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType, Value};
use crate::message::{ChatMessage, ChatMessageContent};
use crate::options::FunctionCallParser;
use crate::prompt::calls;
use crate::prompt::roles::RoleForms;
use crate::prompt::{Segment, joined};

/// What a template prints, and the form in which it takes its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// How functions are presented; `None` if the template does not support them.
    pub(super) tools: Option<ToolForm>,
    /// How calls are passed to the template; `None` if the template ignores them.
    pub(super) calls: Option<CallForm>,
    /// The notation in which calls are printed; `None` if it is unknown.
    pub(super) printed: Option<FunctionCallParser>,
    /// How system messages and results are passed to the template.
    pub(super) roles: RoleForms,
    /// Whether the template prints a placeholder for images.
    pub(super) images: bool,
}

/// How the functions of a conversation reach the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolForm {
    /// In the template's variable `tools`.
    Given(ToolListForm),
    /// In the key `tools` of the system message, as a JSON array of bare functions.
    Carried,
    /// Appended to the system message as a list, because the template does not support functions.
    Inserted(ToolListForm),
}

/// The form of the entries in the tool list of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolListForm {
    /// `{"name", "description", "parameters"}`, as LFM2's prompts have them.
    Bare,
    /// `{"type": "function", "function": {…}}`, as chat completions have them.
    Wrapped,
}

/// How the calls of a message are passed to the template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CallForm {
    /// Whether calls and results have ids of nine letters and digits.
    pub(super) ids: bool,
    /// Whether string arguments are passed as objects that print as Python literals, because the template would put quotes
    /// around a string without escaping the quotes inside.
    pub(super) literals: bool,
}

impl Capabilities {
    /// What is assumed of a template before it is probed.
    pub(super) const NONE: Self =
        Self { tools: None, calls: None, printed: None, roles: RoleForms::USUAL, images: true };

    /// Probes a template. `render` renders a prompt under the assumption of some capabilities.
    pub(super) fn find(
        source: &str,
        has_call_tokens: bool,
        render: impl Fn(Self, &[ChatMessage]) -> Option<Vec<Segment>>,
    ) -> Self {
        let none = Self::NONE;
        let rendered_call = |form: CallForm| render(Self { calls: Some(form), ..none }, &call());
        let shows_call =
            |form: &CallForm| rendered_call(*form).is_some_and(|prompt| joined(&prompt).contains("probe_call"));
        let plain = [false, true].map(|ids| CallForm { ids, literals: false }).into_iter().find(shows_call);
        let read_back = plain.and_then(|plain| {
            let literals = CallForm { literals: true, ..plain };
            let read_back = |form| Some((form, calls::printed(&rendered_call(form)?, AWKWARD)?));
            [plain, literals].into_iter().find_map(read_back)
        });
        let calls = read_back.map(|(form, _)| form).or(plain);
        let printed = read_back.map(|(_, parser)| parser);
        let roles = RoleForms::find(|roles, messages| {
            render(Self { calls, roles, ..none }, messages).map(|prompt| joined(&prompt))
        });
        // LFM2's prompts have bare function objects, all others the wrapped form of chat completions.
        use ToolListForm::{Bare, Wrapped};
        let [first, second] = if source.contains("List of tools") { [Bare, Wrapped] } else { [Wrapped, Bare] };
        let forms = [ToolForm::Given(first), ToolForm::Given(second), ToolForm::Carried, ToolForm::Inserted(Bare)];
        let shows_tools = |form: &ToolForm| {
            let rendered = render(Self { tools: Some(*form), roles, ..none }, &offer());
            rendered.is_some_and(|prompt| joined(&prompt).contains(TOOL))
        };
        let tools = forms[..if has_call_tokens { 4 } else { 3 }].iter().copied().find(shows_tools);
        Self { tools, calls, printed, roles, images: shows_images(|messages| render(none, messages)) }
    }
}

const TOOL: &str = "probe_tool";
/// A string that needs escapes in every notation.
const AWKWARD: &str = "it's \"so\" \\ \n";

fn offer() -> [ChatMessage; 2] {
    // Some templates ignore functions without parameters.
    let parameter = SdkFunctionParameter::new("a", SdkFunctionParameterType::string(), "");
    let function = SdkFunction::new(TOOL, "", vec![parameter]);
    [ChatMessage::with_functions(vec![function]), ChatMessage::user("a")]
}

fn call() -> [ChatMessage; 2] {
    let call = SdkFunctionCall {
        name: "probe_call".to_owned(),
        arguments: Arguments::from([("a".to_owned(), Value::from(AWKWARD))]),
        ..Default::default()
    };
    let mut reply = ChatMessage::assistant("");
    reply.function_calls = Some(vec![call]);
    [ChatMessage::user("a"), reply]
}

/// Whether an image in a message changes the prompt by more than a printed description of the content part.
fn shows_images(render: impl Fn(&[ChatMessage]) -> Option<Vec<Segment>>) -> bool {
    let text = ChatMessage::user("probe_text");
    let mut image = text.clone();
    image.content.insert(0, ChatMessageContent::Image(Vec::new()));
    let rendered = |message: ChatMessage| render(&[message]).map(|prompt| joined(&prompt));
    match (rendered(image), rendered(text)) {
        (Some(image), Some(text)) => {
            let is_description = image.contains("\"type\"") || image.contains("'type'");
            image != text && image.contains("probe_text") && !is_description
        }
        _ => false,
    }
}
