//! Parses a reply with XML calls between tags; the result must not depend on how it is cut.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    causerie::fuzzing::reply(causerie::FunctionCallParser::XmlFunctionCallParser, text);
});
