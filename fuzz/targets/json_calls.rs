//! A reply with calls as JSON between tags; cuts must not matter.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    causerie::fuzzing::reply(causerie::FunctionCallParser::JsonStyleFunctionCallParser, text);
});
