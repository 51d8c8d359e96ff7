//! Parses a reply with calls of FunctionGemma; the result must not depend on how it is cut.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    causerie::fuzzing::reply(causerie::FunctionCallParser::GemmaFunctionCallParser, text);
});
