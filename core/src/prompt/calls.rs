//! The notation in which a model writes calls: no file states it, so it is recognised by the chat template, then by the
//! vocabulary, then by what the template prints for a call.

use crate::function::{Repair, SdkFunctionCall, Value};
use crate::notation::FunctionCallParser;
use crate::notation::definition::ModelSigns;
use crate::parse::{Parsed, Piece, ReplyEnd, ReplyParser};
use crate::tokenizer::Segment;

/// The notation of a model with this template; `printed` is the one in which the template prints calls. A model without any
/// sign of calls is read as if it wrote JSON, which most models fall back to.
pub(super) fn notation(
    template: &str,
    has_control: impl Fn(&str) -> bool,
    printed: Option<FunctionCallParser>,
) -> FunctionCallParser {
    let signs = ModelSigns { template, has_control: &has_control };
    let all = || FunctionCallParser::ALL.iter().copied();
    let of_template = all().find(|parser| (parser.notation().is_shown_by)(&signs));
    let has_markers = |parser: &FunctionCallParser| {
        let notation = parser.notation();
        notation.is_shown_by_markers && notation.has_markers(&has_control)
    };
    let of_vocabulary = || all().find(has_markers);
    of_template.or_else(of_vocabulary).or(printed).unwrap_or(FunctionCallParser::JsonStyleFunctionCallParser)
}

/// The notation in which a prompt contains a call with this argument `a`, without repairs other than JSON in place of Python.
pub(super) fn printed(prompt: &[Segment], argument: &str) -> Option<FunctionCallParser> {
    let is_in = |parser: &FunctionCallParser| {
        let is_it = |call: &SdkFunctionCall| {
            let is_clean = call.repairs.iter().all(|repair| *repair == Repair::JsonBody);
            // JSON and XML have the same tags.
            let is_tagged = call.raw_text.starts_with('<');
            let has_form = is_tagged == parser.notation().is_tagged;
            is_clean && has_form && call.arguments.get("a") == Some(&Value::from(argument))
        };
        calls(prompt, *parser).iter().any(is_it)
    };
    FunctionCallParser::ALL.iter().copied().find(is_in)
}

/// The calls that a prompt contains.
fn calls(prompt: &[Segment], parser: FunctionCallParser) -> Vec<SdkFunctionCall> {
    let mut found = Vec::new();
    let mut parser = ReplyParser::new(Some(parser));
    let mut emit = |parsed| {
        if let Parsed::Calls(calls) = parsed {
            found.extend(calls)
        }
    };
    for segment in prompt {
        match segment {
            Segment::Text(text) => parser.push(Piece::Text(text), &mut emit),
            Segment::Control(spelling) => parser.push(Piece::Control(spelling), &mut emit),
            Segment::Embedded(_) => {}
        }
    }
    parser.finish(ReplyEnd::Interrupted, &mut emit);
    found
}

#[cfg(test)]
mod tests {
    use crate::notation::FunctionCallParser::{
        self, CodeFunctionCallParser, DefaultFunctionCallParser, FunctoolsFunctionCallParser, GemmaFunctionCallParser,
        JsonStyleFunctionCallParser, LlamaFunctionCallParser, MistralFunctionCallParser, PhiFunctionCallParser,
        XmlFunctionCallParser,
    };
    use crate::prompt::PromptRenderer;
    use crate::tokenizer::ControlTokens;

    #[track_caller]
    fn check(template: &str, control: &[&str], expect: FunctionCallParser) {
        let renderer = PromptRenderer::new(template, ControlTokens::new(control).unwrap(), "", "", false).unwrap();
        assert_eq!(renderer.function_call_parser(), expect, "{template}");
    }

    /// A template that prints messages, and calls as `call` does.
    fn printing(call: &str) -> String {
        format!(
            "{{% for m in messages %}}{{{{ m.content }}}}{{% for c in m.tool_calls %}}{{% set f = c.function %}}{call}{{% endfor %}}{{% endfor %}}"
        )
    }

    #[test]
    fn a_template_shows_the_notation() {
        let lfm = ["<|tool_call_start|>", "<|tool_call_end|>"];
        for (template, control, expect) in [
            ("{{ 'List of tools: ' }}", &lfm[..], DefaultFunctionCallParser),
            ("{{ '<|tool_list_start|>' }}", &lfm, DefaultFunctionCallParser),
            ("{{ '[TOOL_CALLS]' }}{{ '[ARGS]' }}", &[], MistralFunctionCallParser),
            ("{{ '<|tool_call>call:' }}", &[], GemmaFunctionCallParser),
            ("{{ '<start_function_call>call:' }}", &[], GemmaFunctionCallParser),
            ("<tool_call>\n<function=a>\n<parameter=b>", &[], XmlFunctionCallParser),
            ("List of tools: <tool_call>\n<function=a>\n<parameter=b>", &[], XmlFunctionCallParser),
            ("<tool_call>\n{\\\"name\\\": 1, \\\"arguments\\\": 2}", &[], JsonStyleFunctionCallParser),
            ("<|tool|>{{ '<|tool_call|>' }}", &[], PhiFunctionCallParser),
            ("<|start_header_id|>{\"name\": 1, \"parameters\": 2}", &[], LlamaFunctionCallParser),
            ("<|python_tag|>", &[], LlamaFunctionCallParser),
            ("between <code> and </code>", &[], CodeFunctionCallParser),
            ("a list as functools[{}, {}]", &[], FunctoolsFunctionCallParser),
            // SmolLM3 gets functions as `tools`, for which its template has the tags of JSON.
            ("{{ python_tools }}<code></code><tool_call>{\\\"arguments\\\": 2}", &[], JsonStyleFunctionCallParser),
            ("no calls", &[], JsonStyleFunctionCallParser),
        ] {
            check(template, control, expect);
        }
    }

    #[test]
    fn control_tokens_show_the_notation() {
        check("no calls", &["<|tool_call_start|>", "<|tool_call_end|>"], DefaultFunctionCallParser);
        check("no calls", &["<|tool_call>", "<tool_call|>"], GemmaFunctionCallParser);
        check("no calls", &["<start_function_call>", "<end_function_call>"], GemmaFunctionCallParser);
        check("no calls", &["<|tool_call|>", "<|/tool_call|>"], PhiFunctionCallParser);
        check("no calls", &["[TOOL_CALLS]"], MistralFunctionCallParser);
        check("no calls", &["<|tool_call_start|>", "<|python_tag|>"], JsonStyleFunctionCallParser);
    }

    #[test]
    fn what_a_template_prints_shows_the_notation() {
        let xml = "<tool_call>\n<func{{ 'tion' }}={{ f.name }}>\n{% for k, v in f.arguments | items %}<param{{ 'eter' }}={{ k }}>\n{{ v }}\n</parameter>\n{% endfor %}</function>\n</tool_call>";
        check(&printing(xml), &[], XmlFunctionCallParser);
        let json = "<tool_call>{{ {'name': f.name, 'argu' ~ 'ments': f['argu' ~ 'ments']} | tojson }}</tool_call>";
        check(&printing(json), &[], JsonStyleFunctionCallParser);
    }
}
