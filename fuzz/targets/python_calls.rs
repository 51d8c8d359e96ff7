//! A reply with a block of Python-style calls; cuts must not matter.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    causerie::fuzzing::reply(causerie::FunctionCallParser::DefaultFunctionCallParser, text);
});
