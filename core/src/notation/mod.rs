//! The notations in which models write calls. Each has a folder, with its markers, its reader, its renderer, its grammar, and the
//! signs by which it is recognised; [`definition`] says what these are. The table at the end names them, for all languages.
//!
//! | notation | module | a call |
//! |---|---|---|
//! | Python | [`python`] | `get_weather(city="Oslo")` |
//! | JSON | [`json`] | `{"name": "get_weather", "arguments": {"city": "Oslo"}}` |
//! | XML | [`xml`] | `<function=get_weather><parameter=city>Oslo</parameter></function>` |
//! | Gemma's | [`gemma`] | `call:get_weather{city:<escape>Oslo<escape>}` |
//! | Mistral's | [`mistral`] | `get_weather[ARGS]{"city": "Oslo"}` |
//! | Llama's | [`llama`] | `{"name": "get_weather", "parameters": {"city": "Oslo"}}` |
//! | Phi's | [`phi`] | `[{"name": "get_weather", "arguments": {"city": "Oslo"}}]` |
//! | code | [`code`] | `<code>get_weather(city="Oslo")</code>` |
//! | functools | [`functools`] | `functools[{"name": "get_weather", "arguments": {"city": "Oslo"}}]` |
//!
//! The readers share a [`list`] of single calls. Nothing here fails: a call that cannot be read is an item with a
//! [`fault`], and the layers above decide what becomes of it.

pub(crate) mod block_text;
mod brackets;
pub(crate) mod code;
pub(crate) mod cursor;
pub(crate) mod definition;
mod escape;
pub(crate) mod fault;
pub(crate) mod functools;
pub(crate) mod gemma;
pub(crate) mod grammar;
pub(crate) mod json;
pub(crate) mod limits;
pub(crate) mod list;
pub(crate) mod llama;
pub(crate) mod marker;
pub(crate) mod mistral;
pub(crate) mod offered;
pub(crate) mod phi;
pub(crate) mod python;
pub(crate) mod quoted;
mod repairs;
mod tool_call_tags;
pub(crate) mod work;
pub(crate) mod written;
pub(crate) mod xml;

use crate::function::{Arguments, Value};
use repairs::Repairs;

pub(crate) use definition::Notation;
pub use json::read_json;

/// Calls the macro `$then` with the table of notations. A row has the module, the variant of `FunctionCallParser`, the same
/// variant in the interfaces of other languages, and the names in options, the first of which is reported.
///
/// A template shows the first notation of the table whose signs it has.
#[doc(hidden)]
#[macro_export]
macro_rules! __notations {
    ($then:ident) => {
        $then! {
            /// Python-style calls between the control tokens `<|tool_call_start|>` and `<|tool_call_end|>`, as LFM2 writes them.
            python: DefaultFunctionCallParser, Default, ["default", "python"];
            /// JSON objects between `<tool_call>` and `</tool_call>`, as Qwen2.5, Qwen3 and Granite 4 write them.
            json: JsonStyleFunctionCallParser, JsonStyle, ["json"];
            /// `<function=…>` with `<parameter=…>` tags between `<tool_call>` and `</tool_call>`, as LFM3, Qwen3.5 and Qwen3-Coder
            /// write them. Values are raw text, which is read as the type that the function declares.
            xml: XmlFunctionCallParser, Xml, ["xml"];
            /// `call:name{…}` between control tokens, as FunctionGemma and Gemma 4 write it.
            gemma: GemmaFunctionCallParser, Gemma, ["gemma"];
            /// Calls after the control token `[TOOL_CALLS]`, as Mistral's models write them: a list of JSON objects, or a name and
            /// `[ARGS]` before an object.
            mistral: MistralFunctionCallParser, Mistral, ["mistral"];
            /// JSON objects with `parameters` as the whole reply, as Llama 3 writes them.
            llama: LlamaFunctionCallParser, Llama, ["llama"];
            /// A list of JSON objects between the control tokens `<|tool_call|>` and `<|/tool_call|>`, as Phi-4-mini writes it.
            phi: PhiFunctionCallParser, Phi, ["phi"];
            /// Python-style calls between `<code>` and `</code>`, one in a line, as SmolLM3 writes them for `python_tools`.
            code: CodeFunctionCallParser, Code, ["code"];
            /// A list of JSON objects after the word `functools`, as Phi-4-mini writes it if its system message asks for it.
            functools: FunctoolsFunctionCallParser, Functools, ["functools"];
        }
    };
}

macro_rules! function_call_parser {
    ($($(#[$doc:meta])* $module:ident: $variant:ident, $short:ident, $names:expr;)*) => {
        /// The notation in which a model writes function calls.
        ///
        /// ```
        /// use causerie::{FunctionCallParser, GenerationOptions};
        ///
        /// let function_call_parser = Some(FunctionCallParser::JsonStyleFunctionCallParser);
        /// let options = GenerationOptions { function_call_parser, ..Default::default() };
        /// # assert!(options.check().is_ok());
        /// ```
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum FunctionCallParser {
            /// The notation that the loaded model writes, as [`ModelInfo`](crate::ModelInfo) reports it. Without a model, the same
            /// as [`DefaultFunctionCallParser`](Self::DefaultFunctionCallParser).
            #[default]
            ModelFunctionCallParser,
            $($(#[$doc])* $variant,)*
        }

        impl FunctionCallParser {
            /// The parsers of all notations, without that of the loaded model.
            ///
            /// ```
            /// use causerie::FunctionCallParser;
            ///
            /// assert_eq!(FunctionCallParser::ALL[0], FunctionCallParser::DefaultFunctionCallParser);
            /// ```
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The names of a parser in options: `model`, or the names of a notation, the one that is reported first.
            ///
            /// ```
            /// use causerie::FunctionCallParser;
            ///
            /// assert_eq!(FunctionCallParser::JsonStyleFunctionCallParser.names(), ["json"]);
            /// ```
            pub const fn names(self) -> &'static [&'static str] {
                match self {
                    Self::ModelFunctionCallParser => &["model"],
                    $(Self::$variant => &$names,)*
                }
            }

            /// The notation. Without a model, the default one.
            pub(crate) fn notation(self) -> &'static Notation {
                match self {
                    Self::ModelFunctionCallParser => Self::DefaultFunctionCallParser.notation(),
                    $(Self::$variant => &$module::NOTATION,)*
                }
            }
        }
    };
}

__notations!(function_call_parser);

impl FunctionCallParser {
    /// The parser with a name in options.
    ///
    /// ```
    /// use causerie::FunctionCallParser;
    ///
    /// assert_eq!(FunctionCallParser::named("xml"), Some(FunctionCallParser::XmlFunctionCallParser));
    /// assert_eq!(FunctionCallParser::named("yaml"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::ModelFunctionCallParser].into_iter().chain(Self::ALL.iter().copied());
        all.into_iter().find(|parser| parser.names().contains(&name))
    }

    /// The markers before and after a block of calls: control tokens, or text for JSON and XML. The end is empty where a block
    /// lasts until the next one or the end of the reply. Gemma 4 has other markers than FunctionGemma, which are not listed
    /// here.
    ///
    /// ```
    /// use causerie::FunctionCallParser::JsonStyleFunctionCallParser;
    ///
    /// assert_eq!(JsonStyleFunctionCallParser.markers(), ("<tool_call>", "</tool_call>"));
    /// ```
    pub fn markers(self) -> (&'static str, &'static str) {
        self.notation().blocks[0]
    }

    /// The control tokens that have a meaning in this notation, by their spellings; without tags, which count as text, too.
    ///
    /// ```
    /// use causerie::FunctionCallParser::PhiFunctionCallParser;
    ///
    /// assert_eq!(PhiFunctionCallParser.control_tokens(), ["<|tool_call|>", "<|/tool_call|>"]);
    /// ```
    pub fn control_tokens(self) -> Vec<&'static str> {
        let notation = self.notation();
        let control = notation.control.iter().filter(|marker| !notation.in_text.contains(marker));
        control.map(|(spelling, _)| *spelling).chain(notation.inner.iter().copied()).collect()
    }

    /// This parser, or the one of the loaded model.
    pub(crate) const fn or_of_model(self, model: Self) -> Self {
        match self {
            Self::ModelFunctionCallParser => model,
            named => named,
        }
    }
}

/// The arguments in the text of a call, with numbers as strings, exactly as the model wrote them; `None` for other text.
/// Numbers keep their type in arguments that were given as a string of JSON.
pub(crate) fn number_lexemes(raw_text: &str) -> Option<Arguments> {
    let text = raw_text.trim_start();
    if text.starts_with('{') { json::lexemes(text) } else { python::lexemes(text) }
}

/// The number that a lexeme stands for.
pub(crate) fn number_of(lexeme: &str) -> Option<Value> {
    python::number::read(lexeme, &mut Repairs::default()).ok()
}
