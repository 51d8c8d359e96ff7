//! The folders that the variables of Hugging Face's tools name.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The folder of Hugging Face's tools in the user's folder. On iOS, the system may delete what caches contain.
const IN_HOME: &str =
    if cfg!(target_os = "ios") { "Library/Application Support/huggingface" } else { ".cache/huggingface" };

/// The variables of a process, and the folder of its user.
pub struct HubVariables<'a> {
    /// Returns the value of a variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The folder that `~` stands for.
    pub user_folder: Option<PathBuf>,
}

impl HubVariables<'_> {
    /// The environment of this process.
    pub fn of_process() -> Self {
        Self { variable: &|name| env::var_os(name), user_folder: env::home_dir() }
    }

    /// The folder of the cache.
    pub fn cache(&self) -> Option<PathBuf> {
        self.path("HF_HUB_CACHE")
            .or_else(|| self.path("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| Some(self.tools_folder()?.join("hub")))
    }

    /// The folder of the tools, in which the cache and the token are.
    pub fn tools_folder(&self) -> Option<PathBuf> {
        self.path("HF_HOME")
            .or_else(|| Some(self.path("XDG_CACHE_HOME")?.join("huggingface")))
            .or_else(|| Some(self.user_folder.as_ref()?.join(IN_HOME)))
    }

    /// The path in a variable, where `~` is the user's folder, and variables are replaced as `huggingface_hub` does.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        let value = PathBuf::from((self.variable)(name).filter(|value| !value.is_empty())?);
        let path = match (value.strip_prefix("~"), &self.user_folder) {
            (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home.clone(),
            (Ok(rest), Some(home)) => home.join(rest),
            _ => value,
        };
        Some(self.expanded(path.as_os_str(), cfg!(windows)).into())
    }

    /// A text with the values of `$NAME` and `${NAME}`, and of `%NAME%` on Windows. What is not set stays as it is written, and
    /// values are not searched for variables. Text that is not UTF-8 stays whole.
    fn expanded(&self, text: &OsStr, has_percent: bool) -> OsString {
        let Some(mut rest) = text.to_str() else { return text.to_owned() };
        let mut expanded = OsString::with_capacity(rest.len());
        while let Some(at) = rest.find(['$', '%']) {
            let (before, reference) = rest.split_at(at);
            expanded.push(before);
            let (name, length) = split_reference(reference, has_percent).unwrap_or(("", 1));
            let (written, after) = reference.split_at(length);
            expanded.push((self.variable)(name).unwrap_or_else(|| written.into()));
            rest = after;
        }
        expanded.push(rest);
        expanded
    }
}

/// The name of the variable that a text begins with, and the length of the reference.
fn split_reference(text: &str, has_percent: bool) -> Option<(&str, usize)> {
    if let Some(rest) = text.strip_prefix("${") {
        let name = rest.split_once('}')?.0;
        return (!name.is_empty()).then(|| (name, name.len() + 3));
    }
    if let Some(rest) = text.strip_prefix('$') {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        return (0 < end).then(|| (&rest[..end], end + 1));
    }
    let name = text.strip_prefix('%').filter(|_| has_percent)?.split_once('%')?.0;
    (!name.is_empty()).then(|| (name, name.len() + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variable: &dyn Fn(&str) -> Option<OsString>) -> HubVariables<'_> {
        HubVariables { variable, user_folder: Some("/home/u".into()) }
    }

    /// The values that Python's `os.path.expandvars` gives after `expanduser`, on Unix.
    #[test]
    #[cfg(unix)]
    fn paths_may_contain_the_user_s_folder_and_variables() {
        for (text, expect) in [
            ("$X/a", "/x/a"),
            ("${X}/a", "/x/a"),
            ("$NONE/a", "$NONE/a"),
            ("${NONE}/$X", "${NONE}//x"),
            ("a$", "a$"),
            ("$$X", "$/x"),
            ("${X", "${X"),
            ("${}", "${}"),
            ("$X$A_1", "/xa"),
            ("$Y/b", "$X/b"),
            ("$EMPTY/c", "/c"),
            ("~/d", "/home/u/d"),
            ("~", "/home/u"),
            ("~/$A_1", "/home/u/a"),
            ("$HOME/e", "/home/v/e"),
            ("a~/b", "a~/b"),
            ("$X-b", "/x-b"),
            ("$Xé", "/xé"),
            ("~other/a", "~other/a"),
            ("%X%/a", "%X%/a"),
        ] {
            let variable = |name: &str| match name {
                "HF_HOME" => Some(OsString::from(text)),
                "X" => Some("/x".into()),
                "Y" => Some("$X".into()),
                "A_1" => Some("a".into()),
                "EMPTY" => Some("".into()),
                "HOME" => Some("/home/v".into()),
                _ => None,
            };
            assert_eq!(environment(&variable).tools_folder().unwrap().to_str(), Some(expect), "{text}");
        }
    }

    #[test]
    fn variables_may_be_written_as_on_windows() {
        let variable = |name: &str| (name == "X").then(|| OsString::from("C:\\x"));
        for (text, expect) in
            [("%X%\\a", "C:\\x\\a"), ("$X\\a", "C:\\x\\a"), ("%NONE%\\a", "%NONE%\\a"), ("%X", "%X"), ("%", "%")]
        {
            assert_eq!(environment(&variable).expanded(text.as_ref(), true), expect, "{text}");
        }
    }

    #[test]
    fn the_cache_is_in_the_first_folder_that_is_named() {
        let mut variables = vec![
            ("HF_HUB_CACHE", "/1", "/1"),
            ("HUGGINGFACE_HUB_CACHE", "/2", "/2"),
            ("HF_HOME", "/3", "/3/hub"),
            ("XDG_CACHE_HOME", "/4", "/4/huggingface/hub"),
        ];
        while let Some((_, _, expect)) = variables.first() {
            let variable =
                |name: &str| variables.iter().find(|(own, ..)| *own == name).map(|(_, value, _)| (*value).into());
            assert_eq!(environment(&variable).cache(), Some((*expect).into()));
            variables.remove(0);
        }
        let unset = |name: &str| (name == "HF_HOME").then(OsString::new);
        assert_eq!(environment(&unset).cache(), Some(PathBuf::from("/home/u").join(IN_HOME).join("hub")));
        assert_eq!(HubVariables { variable: &unset, user_folder: None }.cache(), None);
    }
}
