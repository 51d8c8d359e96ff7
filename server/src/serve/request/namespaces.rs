//! Functions in namespaces, as Codex has them for its sub-agents and for each MCP server. A model calls functions by one name,
//! so the namespace stands before the name. In responses, a call is sent with both apart, as the client declared them.

use std::collections::HashMap;

use serde_json::Value as Json;

/// Between a namespace and a name.
const SEPARATOR: &str = "__";
/// The namespace of functions that are in no other one.
const DEFAULT: &str = "functions";

/// A function within its namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::serve) struct NamespacedName {
    pub(in crate::serve) namespace: String,
    pub(in crate::serve) name: String,
}

/// The name that the model calls: `mcp__weather` and `get` become `mcp__weather__get`.
pub(in crate::serve) fn joined(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        None | Some("" | DEFAULT) => name.to_owned(),
        Some(namespace) if namespace.ends_with(SEPARATOR) => format!("{namespace}{name}"),
        Some(namespace) => format!("{namespace}{SEPARATOR}{name}"),
    }
}

/// The name that the model calls, of a call or a choice with a name and perhaps a namespace.
pub(in crate::serve) fn joined_name(named: &Json) -> Option<String> {
    Some(joined(named.get("namespace").and_then(Json::as_str), named.get("name")?.as_str()?))
}

/// The functions in namespaces, by the names that the model calls.
#[derive(Debug, Default)]
pub(in crate::serve) struct Namespaces(HashMap<String, NamespacedName>);

impl Namespaces {
    pub(in crate::serve) fn new(names: impl IntoIterator<Item = NamespacedName>) -> Self {
        Self(names.into_iter().map(|name| (joined(Some(&name.namespace), &name.name), name)).collect())
    }

    /// The namespace, if there is one, and the name in it, of a function that the model has called.
    pub(in crate::serve) fn split<'a>(&'a self, called: &'a str) -> (Option<&'a str>, &'a str) {
        match self.0.get(called) {
            Some(NamespacedName { namespace, name }) => (Some(namespace), name),
            None => (None, called),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_in_its_namespace_again() {
        let names = [("mcp__weather", "get"), ("mcp__old__", "get"), ("functions", "wait"), ("a", "b__c")];
        let name = |(namespace, name): (&str, &str)| NamespacedName { namespace: namespace.into(), name: name.into() };
        let namespaces = Namespaces::new(names.map(name));
        for (called, expect) in [
            ("mcp__weather__get", (Some("mcp__weather"), "get")),
            ("mcp__old__get", (Some("mcp__old__"), "get")),
            ("wait", (Some("functions"), "wait")),
            ("a__b__c", (Some("a"), "b__c")),
            ("get", (None, "get")),
            ("mcp__weather", (None, "mcp__weather")),
        ] {
            assert_eq!(namespaces.split(called), expect);
        }
    }
}
