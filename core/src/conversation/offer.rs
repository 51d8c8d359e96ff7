//! The functions that a prompt lists, where the options do not offer all functions of a conversation.

use std::collections::BTreeMap;

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{FunctionRanker, SdkFunction};
use crate::message::{ChatMessage, Role};
use crate::options::{GenerationOptions, ToolChoice};

/// The functions that messages carried before [`narrow`] changed them, by the indices of the messages.
pub(super) type ReplacedFunctions = BTreeMap<usize, Vec<SdkFunction>>;

/// Leaves the functions in the history that these options offer. Returns those that the messages carried before.
///
/// # Errors
/// [`ErrorKind::InvalidOption`] for names that no function has, and for a choice without a ranker; errors of the ranker.
pub(super) fn narrow(
    history: &mut [ChatMessage],
    options: &GenerationOptions,
    ranker: Option<&dyn FunctionRanker>,
) -> Result<ReplacedFunctions> {
    let Some(listed) = listed(history, options, ranker)? else { return Ok(ReplacedFunctions::new()) };
    let carriers = history.iter_mut().enumerate().filter(|(_, message)| !message.functions.is_empty());
    let replaced: ReplacedFunctions =
        carriers.map(|(at, message)| (at, std::mem::take(&mut message.functions))).collect();
    if let Some(first) = replaced.keys().next() {
        let functions: Vec<&SdkFunction> = replaced.values().flatten().collect();
        history[*first].functions = listed.into_iter().map(|at| functions[at].clone()).collect();
    }
    Ok(replaced)
}

/// Takes back what [`narrow`] did.
pub(super) fn widen(history: &mut [ChatMessage], replaced: ReplacedFunctions) {
    for (at, functions) in replaced {
        history[at].functions = functions;
    }
}

/// The functions that these options offer, as indices in the order of the prompt; `None` for all as they are.
fn listed(
    history: &[ChatMessage],
    options: &GenerationOptions,
    ranker: Option<&dyn FunctionRanker>,
) -> Result<Option<Vec<usize>>> {
    let functions: Vec<&SdkFunction> = history.iter().flat_map(|message| &message.functions).collect();
    let unknown = |name: &&String| !functions.iter().any(|function| function.name == **name);
    if let Some(name) = options.offered_functions.iter().flatten().find(unknown) {
        let message = format!("offered_functions must name functions of the conversation, found {name:?}");
        return Err(invalid("offered_functions", message));
    }
    let among = |names: &Option<Vec<String>>, at: &usize| {
        names.as_ref().is_none_or(|names| names.contains(&functions[*at].name))
    };
    let offered: Vec<usize> = (0..functions.len()).filter(|at| among(&options.offered_functions, at)).collect();
    let Some(n_max) = options.max_offered_functions else {
        return Ok(options.offered_functions.is_some().then_some(offered));
    };
    let ranker = ranker.ok_or_else(|| {
        let message =
            "max_offered_functions needs an embedding model: set_function_ranker sets it, and serve --embedding-model";
        invalid("max_offered_functions", message.to_owned())
    })?;
    if offered.len() <= n_max {
        return Ok(Some(offered));
    }
    let candidates: Vec<usize> = offered.iter().copied().filter(|at| among(&options.allowed_tools, at)).collect();
    let mut list = FunctionList { functions: &functions, offered, candidates, n_max, listed: vec![], called: vec![] };
    list.follow(history, ranker)?;
    if let ToolChoice::Function(name) = &options.tool_choice {
        list.add(name);
    }
    let names: Vec<&str> = list.listed.iter().map(|at| functions[*at].name.as_str()).collect();
    log::debug!("the prompt lists {} of {} functions: {}", names.len(), functions.len(), names.join(", "));
    Ok(Some(list.listed))
}

/// The list of functions in a prompt, as it changes from message to message. It depends on the history alone, so that a restored or
/// copied conversation, and one that a server makes from a request, has the same list. Functions are indices.
struct FunctionList<'a> {
    functions: &'a [&'a SdkFunction],
    /// The functions that may be listed.
    offered: Vec<usize>,
    /// The functions to choose from.
    candidates: Vec<usize>,
    /// Listed functions at most, besides those that were called.
    n_max: usize,
    listed: Vec<usize>,
    called: Vec<usize>,
}

impl FunctionList<'_> {
    fn follow(&mut self, history: &[ChatMessage], ranker: &dyn FunctionRanker) -> Result<()> {
        let candidates: Vec<&SdkFunction> = self.candidates.iter().map(|at| self.functions[*at]).collect();
        let fits_whole = candidates.len() <= self.n_max;
        if fits_whole {
            self.listed.clone_from(&self.candidates);
        }
        for message in history {
            match message.role {
                // A picture or a sound alone has no words to choose by.
                Role::User if !fits_whole && !message.text().trim().is_empty() => {
                    let ranked = ranker.ranked(&message.text(), &candidates)?;
                    self.ask(&ranked.into_iter().map(|at| self.candidates[at]).collect::<Vec<_>>());
                }
                Role::Assistant => self.call(message),
                Role::User | Role::System | Role::Tool => {}
            }
        }
        if self.listed.is_empty() {
            self.listed.extend(self.candidates.iter().take(self.n_max)); // nobody has asked for anything yet
        }
        Ok(())
    }

    /// Lists what fits a message of the user: all that there is space for at first, later the better half of it. A function that was
    /// not listed takes the place of the last ones that neither fit nor were called.
    fn ask(&mut self, ranked: &[usize]) {
        let n_wanted = if self.listed.is_empty() { self.n_max } else { self.n_max.div_ceil(2) };
        let wanted = &ranked[..n_wanted.min(ranked.len())];
        for at in wanted {
            if self.listed.contains(at) {
                continue;
            }
            let n_chosen = self.listed.iter().filter(|at| !self.called.contains(at)).count();
            let is_free = |at: &usize| !self.called.contains(at) && !wanted.contains(at);
            if self.n_max <= n_chosen
                && let Some(last) = self.listed.iter().rposition(is_free)
            {
                self.listed.remove(last);
            }
            self.listed.push(*at);
        }
    }

    /// Keeps the functions that a reply has called.
    fn call(&mut self, reply: &ChatMessage) {
        for call in reply.function_calls.iter().flatten() {
            let called = self.add(&call.name);
            self.called.extend(called);
        }
    }

    /// Lists a function, if it may be listed. Returns its index.
    fn add(&mut self, name: &str) -> Option<usize> {
        let at = self.offered.iter().copied().find(|at| self.functions[*at].name == name)?;
        if !self.listed.contains(&at) {
            self.listed.push(at);
        }
        Some(at)
    }
}

fn invalid(option: &'static str, message: String) -> SdkError {
    SdkError::new(ErrorKind::InvalidOption(option), message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::SdkFunctionCall;

    /// Ranks functions by where a message names them.
    struct ByMention;

    impl FunctionRanker for ByMention {
        fn ranked(&self, message: &str, functions: &[&SdkFunction]) -> Result<Vec<usize>> {
            let mut ranked: Vec<usize> = (0..functions.len()).collect();
            ranked.sort_by_key(|at| message.find(&functions[*at].name).unwrap_or(usize::MAX));
            Ok(ranked)
        }
    }

    fn history(turns: &[&str]) -> Vec<ChatMessage> {
        let function = |name: char| SdkFunction::new(name.to_string(), "", vec![]);
        let message = |turn: &&str| match turn.strip_prefix("call ") {
            None => ChatMessage::user(*turn),
            Some(name) => ChatMessage {
                function_calls: Some(vec![SdkFunctionCall { name: name.to_owned(), ..Default::default() }]),
                ..ChatMessage::assistant("")
            },
        };
        let carrier = ChatMessage::with_functions("abcdefgh".chars().map(function).collect());
        std::iter::once(carrier).chain(turns.iter().map(message)).collect()
    }

    fn at_most(n: usize) -> GenerationOptions {
        GenerationOptions { max_offered_functions: Some(n), ..Default::default() }
    }

    fn names(functions: &[SdkFunction]) -> String {
        functions.iter().map(|function| function.name.as_str()).collect()
    }

    /// The functions in a prompt after these turns.
    fn offered(turns: &[&str], options: &GenerationOptions) -> String {
        let mut history = history(turns);
        let before = history.clone();
        let replaced = narrow(&mut history, options, Some(&ByMention)).unwrap();
        let offered = names(&history[0].functions);
        widen(&mut history, replaced);
        assert_eq!(history, before);
        offered
    }

    #[test]
    fn the_list_changes_as_little_as_messages_allow() {
        for (turns, expect) in [
            (&[][..], "abcd"),
            (&["h f b"], "hfba"),
            // Its better half is listed.
            (&["h f b", "b a g"], "hfba"),
            // The last one that does not fit gives way.
            (&["h f b", "h e g"], "hfbe"),
            (&["h f b", "d e"], "hfde"),
            // What was called stays, and does not count.
            (&["h f b", "call a", "d e"], "hfade"),
            (&["h f b", "call a", "call b", "call f", "call h", "c d e g"], "hfbacd"),
            // Also what was called without being listed.
            (&["h f b", "call g", "call x"], "hfbag"),
            (&["", " \n", "h f b"], "hfba"),
        ] {
            assert_eq!(offered(turns, &at_most(4)), expect, "{turns:?}");
        }
        assert_eq!(offered(&["h f b", "g"], &at_most(1)), "g");
        assert_eq!(offered(&["h f b", "call h"], &at_most(8)), "abcdefgh");
    }

    #[test]
    fn the_choice_is_among_offered_and_allowed_functions() {
        let strings = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let offered_only = GenerationOptions { offered_functions: strings(&["h", "c", "a"]), ..at_most(2) };
        assert_eq!(offered(&["f h b"], &offered_only), "ha");
        assert_eq!(offered(&["f h b", "call b"], &offered_only), "ha");
        assert_eq!(offered(&["f h b"], &GenerationOptions { max_offered_functions: None, ..offered_only }), "ach");
        let allowed = GenerationOptions { allowed_tools: strings(&["h", "c", "a"]), ..at_most(2) };
        assert_eq!(offered(&["f h b"], &allowed), "ha");
        assert_eq!(offered(&["f h b", "call b"], &allowed), "hab");
        let few = GenerationOptions { allowed_tools: strings(&["h", "c"]), ..at_most(2) };
        assert_eq!(offered(&["f h b", "call b"], &few), "chb");
        let chosen = GenerationOptions { tool_choice: ToolChoice::Function("e".to_owned()), ..at_most(2) };
        assert_eq!(offered(&["f h b"], &chosen), "fhe");
    }

    #[test]
    fn a_choice_needs_a_ranker_and_known_names() {
        let unranked = narrow(&mut history(&["a"]), &at_most(8), None).unwrap_err();
        assert_eq!(unranked.kind(), ErrorKind::InvalidOption("max_offered_functions"));
        let unknown = GenerationOptions { offered_functions: Some(vec!["x".to_owned()]), ..Default::default() };
        let unknown = narrow(&mut history(&["a"]), &unknown, None).unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::InvalidOption("offered_functions"));
        assert_eq!(narrow(&mut [], &at_most(2), Some(&ByMention)).unwrap(), ReplacedFunctions::new());
    }
}
