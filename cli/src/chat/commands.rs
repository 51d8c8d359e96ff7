//! The lines of a chat that begin with a slash.

use std::path::Path;

/// What the person asks of the chat itself.
#[derive(Debug, PartialEq)]
pub(super) enum ChatCommand<'a> {
    Help,
    /// Shows the system prompt, or replaces it.
    System(Option<&'a str>),
    Save(&'a Path),
    Load(&'a Path),
    Retry,
    Quit,
    /// Nothing that the chat knows, with what is wrong.
    Invalid(String),
}

pub(super) const HELP: &str = "\
/system        show the system prompt
/system TEXT   replace the system prompt
/retry         reply to the last message again
/save FILE     save the conversation
/load FILE     continue a saved conversation
/quit          end, as Ctrl-D does
Ctrl-C cancels a reply. A line that begins with a space is always a message.";

impl<'a> ChatCommand<'a> {
    /// Reads a line; `None` for a message. A path such as `/etc/hosts` begins a message.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let (name, rest) = line.strip_prefix('/')?.split_once(' ').unwrap_or((&line[1..], ""));
        let rest = rest.trim();
        let file = |command: fn(&'a Path) -> Self| match rest {
            "" => Self::Invalid(format!("/{name} must be followed by a file name")),
            file => command(Path::new(file)),
        };
        Some(match name.trim_end() {
            "help" | "?" => Self::Help,
            "system" => Self::System((!rest.is_empty()).then_some(rest)),
            "save" => file(Self::Save),
            "load" => file(Self::Load),
            "retry" => Self::Retry,
            "quit" | "exit" => Self::Quit,
            other if !other.is_empty() && other.bytes().all(|byte| byte.is_ascii_lowercase()) => {
                Self::Invalid(format!("no command /{other}; /help lists them"))
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_messages() {
        assert_eq!(ChatCommand::read("/help"), Some(ChatCommand::Help));
        assert_eq!(ChatCommand::read("/system"), Some(ChatCommand::System(None)));
        assert_eq!(ChatCommand::read("/system  Be brief. "), Some(ChatCommand::System(Some("Be brief."))));
        assert_eq!(ChatCommand::read("/save a b.chat"), Some(ChatCommand::Save(Path::new("a b.chat"))));
        assert_eq!(ChatCommand::read("/retry "), Some(ChatCommand::Retry));
        for (line, expect) in
            [("/load", "/load must be followed by a file name"), ("/quti", "no command /quti; /help lists them")]
        {
            assert_eq!(ChatCommand::read(line), Some(ChatCommand::Invalid(expect.to_owned())));
        }
        for message in ["", "/", "/ help", " /help", "Hello /help", "/etc/hosts", "/É", "//"] {
            assert_eq!(ChatCommand::read(message), None, "{message}");
        }
    }
}
