//! Parses a reply with calls of Llama 3; the result must not depend on how it is cut.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    causerie::fuzzing::reply(causerie::FunctionCallParser::LlamaFunctionCallParser, text);
});
