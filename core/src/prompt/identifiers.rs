//! Names of functions in the prompts of models that write calls in Python: names that Python cannot write are replaced by
//! identifiers, wherever a prompt has them. What a model calls by an identifier gets the name back when its reply is parsed.

use std::borrow::Cow;

use crate::function::PythonNames;
use crate::message::{ChatMessage, Role};
use crate::notation::FunctionCallParser;

/// The messages as a model of this notation reads them. Identifiers depend on the offered functions; names of earlier functions,
/// which are only in calls and results, get others.
pub(super) fn written(messages: &[ChatMessage], notation: FunctionCallParser) -> Cow<'_, [ChatMessage]> {
    if !notation.notation().writes_identifiers {
        return Cow::Borrowed(messages);
    }
    let functions = messages.iter().flat_map(|message| &message.functions);
    let mut identifiers = PythonNames::new(functions.map(|function| function.name.as_str()));
    for message in messages {
        let calls = message.function_calls.iter().flatten().map(|call| call.name.as_str());
        calls.chain(name_of_result(message)).for_each(|name| identifiers.add(name));
    }
    if identifiers.is_empty() {
        return Cow::Borrowed(messages);
    }
    let replace = |name: &mut String| *name = identifiers.written(name).to_owned();
    let mut messages = messages.to_vec();
    for message in &mut messages {
        let calls = message.function_calls.iter_mut().flatten().map(|call| &mut call.name);
        calls.for_each(replace);
        message.functions.iter_mut().map(|function| &mut function.name).for_each(replace);
        if name_of_result(message).is_some() {
            message.name.iter_mut().for_each(replace);
        }
    }
    Cow::Owned(messages)
}

/// The name of the function whose result a message is.
fn name_of_result(message: &ChatMessage) -> Option<&str> {
    message.name.as_deref().filter(|_| message.role == Role::Tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{SdkFunction, SdkFunctionCall};

    fn history(names: &[&str], called: &str) -> Vec<ChatMessage> {
        let functions = names.iter().map(|name| SdkFunction::new(*name, "", vec![]));
        let call = SdkFunctionCall { name: called.to_owned(), ..SdkFunctionCall::default() };
        let named = |message: ChatMessage| ChatMessage { name: Some(called.to_owned()), ..message };
        let reply = ChatMessage { function_calls: Some(vec![call]), ..named(ChatMessage::assistant("")) };
        vec![ChatMessage::with_functions(functions.collect()), reply, named(ChatMessage::tool("1"))]
    }

    #[track_caller]
    fn check(names: &[&str], called: &str, expect_names: &[&str], expect_called: &str) {
        let given = history(names, called);
        let mut expect = history(expect_names, expect_called);
        expect[1].name = Some(called.to_owned()); // no name of a function
        assert_eq!(written(&given, FunctionCallParser::DefaultFunctionCallParser), expect);
        for other in [FunctionCallParser::JsonStyleFunctionCallParser, FunctionCallParser::LlamaFunctionCallParser] {
            assert!(matches!(written(&given, other), Cow::Borrowed(_)), "other notations write all names");
        }
    }

    #[test]
    fn functions_calls_and_results_have_the_same_identifiers() {
        check(&["a-b", "a_b", "9"], "a-b", &["a_b_2", "a_b", "_9"], "a_b_2");
        check(&["f"], "f", &["f"], "f");
    }

    #[test]
    fn a_function_that_is_no_longer_offered_has_another_identifier() {
        check(&["a_b", "a--b"], "a-b", &["a_b", "a__b"], "a_b_2");
        check(&["a-b"], "a_b", &["a_b"], "a_b");
        check(&[], "no name", &[], "no name");
    }
}
