//! Finds text that looks like a call of an offered function, in a reply that calls none.
//!
//! It reads nothing that [`ReplyParser`](super::ReplyParser) would not read: the text stays text. An app learns why its function
//! did not run.

/// Keys whose value names a function in JSON.
const KEYS: [&str; 5] = ["name", "function", "function_name", "tool", "tool_name"];

/// The first function, by its place in the text, of which the text seems to contain a call.
pub(crate) fn missed_call<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = |name: &'a str| {
        let mut places = text.match_indices(name).map(|(at, _)| at);
        Some((places.find(|&at| is_call(&text[..at], &text[at + name.len()..]))?, name))
    };
    names.filter(|name| !name.is_empty()).filter_map(first).min().map(|(_, name)| name)
}

/// Whether a name between these texts is that of a call: `"name": "f"`, `"f": {`, `<function=f>`, `f(city="Oslo")`.
fn is_call(before: &str, after: &str) -> bool {
    if let (Some(before), Some(after)) = (before.strip_suffix('"'), after.strip_prefix('"')) {
        return is_value_of_key(before) || is_key_of_object(after) || before.ends_with('=');
    }
    let begins_name = !before.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == '.');
    begins_name && (is_in_tag(before, after) || is_applied(before, after))
}

fn is_value_of_key(before: &str) -> bool {
    let Some(before) = before.trim_end().strip_suffix(':') else { return false };
    let key = before.trim_end();
    let is_key = |name: &&str| {
        key.strip_suffix('"').and_then(|key| key.strip_suffix(*name)).is_some_and(|key| key.ends_with('"'))
    };
    KEYS.iter().any(is_key)
}

fn is_key_of_object(after: &str) -> bool {
    after.trim_start().strip_prefix(':').is_some_and(|value| value.trim_start().starts_with('{'))
}

fn is_in_tag(before: &str, after: &str) -> bool {
    after.starts_with('>') && ["<", "<function=", "<function:"].iter().any(|start| before.ends_with(start))
}

/// Whether the name is applied to arguments with keywords, or alone on its line to none. Prose also names functions with
/// brackets: `f()` and `f(city)` are no calls there.
fn is_applied(before: &str, after: &str) -> bool {
    let Some(arguments) = after.strip_prefix('(') else { return false };
    let line = before.rsplit('\n').next().unwrap_or_default();
    match arguments.trim_start().strip_prefix(')') {
        Some(rest) => {
            let is_mark = |text: &str| text.chars().all(|mark| mark.is_whitespace() || "[]`".contains(mark));
            is_mark(line) && is_mark(rest.lines().next().unwrap_or_default())
        }
        None => {
            let keyword = arguments.trim_start().split(|next: char| !next.is_alphanumeric() && next != '_').next();
            let value = keyword.and_then(|keyword| arguments.trim_start().strip_prefix(keyword)).unwrap_or_default();
            keyword.is_some_and(|keyword| !keyword.is_empty()) && value.trim_start().starts_with('=')
                || arguments.trim_start().starts_with('{')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(text: &str) -> Option<&'static str> {
        missed_call(text, ["get_weather", "now"].into_iter())
    }

    #[test]
    fn calls_in_any_notation_are_found_in_text() {
        for text in [
            r#"Sure! {"name": "get_weather", "arguments": {"city": "Oslo"}}"#,
            r#"{"type": "function", "function" : "get_weather"}"#,
            r#"{"get_weather": {"city": "Oslo"}}"#,
            "<function=get_weather><parameter=city>Oslo</parameter></function>",
            r#"<invoke name="get_weather">"#,
            "<get_weather><city>Oslo</city></get_weather>",
            r#"I would use get_weather(city="Oslo") now()."#,
            "```python\nprint(get_weather(city = 'Oslo'))\n```",
            r#"get_weather({"city": "Oslo"})"#,
        ] {
            assert_eq!(missed(text), Some("get_weather"), "{text}");
        }
        assert_eq!(missed("Let me look.\n[now()]\n"), Some("now"));
        assert_eq!(missed("now(zone=1), get_weather(city='Oslo')"), Some("now"), "the first in the text");
    }

    #[test]
    fn prose_about_functions_is_not_a_call() {
        for text in [
            "",
            "It is sunny now.",
            "I can call get_weather for you, or \"now\".",
            "The function get_weather(city) takes a city, and now() none.",
            r#"{"name": "Oslo", "tool": "other_now"}"#,
            r#"{"title": "get_weather"}"#,
            "forget_weather(city='Oslo')",
            "api.now(zone=1)",
            "now(",
            "(now) now =",
        ] {
            assert_eq!(missed(text), None, "{text}");
        }
    }
}
