//! Choices of tools in the form of another route. Clients that send a foreign form of tools send their choice in it, too.

use serde_json::{Value as Json, json};

use crate::serve::request::fields::RequestFields;
use crate::serve::request::namespaces::joined_name;

/// How a route writes its choice of tools.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::serve) enum ToolChoiceForm {
    Chat,
    Responses,
    Messages,
}

impl ToolChoiceForm {
    /// Writes a foreign choice in this form. What no route knows stays as it is: this route's reader says what is wrong.
    pub(in crate::serve) fn translate(self, fields: &mut RequestFields) {
        leave_out_unknown_tools(fields);
        if let Some(choice) = fields.peek("tool_choice").and_then(|choice| self.translated(choice)) {
            fields.replace("tool_choice", choice);
        }
    }

    fn translated(self, choice: &Json) -> Option<Json> {
        let name = joined_name(choice).or_else(|| joined_name(choice.get("function")?));
        let kind = choice.get("type").unwrap_or(choice).as_str()?;
        let is_any = matches!(kind, "any" | "required");
        match (self, kind, name) {
            (Self::Chat, "allowed_tools", _) if choice.get("tools").is_some() => {
                let allowed = json!({ "mode": choice["mode"], "tools": self.translated_tools(&choice["tools"]) });
                Some(json!({ "type": kind, "allowed_tools": allowed }))
            }
            (Self::Responses, "allowed_tools", _) if choice.get("allowed_tools").is_some() => {
                let allowed = &choice["allowed_tools"];
                let tools = self.translated_tools(&allowed["tools"]);
                Some(json!({ "type": kind, "mode": allowed["mode"], "tools": tools }))
            }
            // Objects of Anthropic's form have further fields.
            (Self::Messages, "auto" | "none" | "any" | "tool", _) if choice.is_object() => None,
            (Self::Messages, "auto" | "none", _) => Some(json!({ "type": kind })),
            (Self::Messages, ..) if is_any => Some(json!({ "type": "any" })),
            (_, "auto" | "none", _) => Some(json!(kind)),
            _ if is_any => Some(json!("required")),
            (Self::Messages, "function", Some(name)) => Some(json!({ "type": "tool", "name": name })),
            // The response repeats the choice as it was given.
            (Self::Responses, "function", _) if choice.get("namespace").is_some() => None,
            (Self::Responses, "function" | "tool", Some(name)) => Some(json!({ "type": "function", "name": name })),
            (Self::Chat, "function" | "tool", Some(name)) => {
                Some(json!({ "type": "function", "function": { "name": name } }))
            }
            _ => None,
        }
    }

    fn translated_tools(self, tools: &Json) -> Json {
        let translated = |tool: &Json| self.translated(tool).unwrap_or_else(|| tool.clone());
        tools.as_array().map_or_else(|| tools.clone(), |tools| tools.iter().map(translated).collect())
    }
}

/// Leaves tools that are not functions out of a choice of allowed tools: they are not offered. If no other one is left, the
/// model may call none, unless it must call one.
fn leave_out_unknown_tools(fields: &mut RequestFields) {
    let Some(mut choice) = fields.peek("tool_choice").cloned() else { return };
    let places = ["/tools", "/allowed_tools/tools"];
    let Some(place) = places.into_iter().find(|at| choice.pointer(at).is_some_and(Json::is_array)) else { return };
    let Some(tools) = choice.pointer_mut(place).and_then(Json::as_array_mut) else { return };
    let is_function = |tool: &Json| matches!(tool["type"].as_str(), None | Some("function" | "tool"));
    if tools.iter().all(is_function) {
        return;
    }
    for (i, _) in tools.iter().enumerate().filter(|(_, tool)| !is_function(tool)) {
        fields.ignore(format!("tool_choice{}[{i}]", place.replace('/', ".")));
    }
    tools.retain(is_function);
    let is_empty = tools.is_empty();
    let is_required = ["/mode", "/allowed_tools/mode"].iter().any(|at| choice.pointer(at) == Some(&json!("required")));
    match is_empty {
        true if is_required => {} // its reader says what is wrong
        true => fields.replace("tool_choice", json!("none")),
        false => fields.replace("tool_choice", choice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_becomes_that_of_each_route() {
        let chat = json!({ "type": "function", "function": { "name": "f" } });
        let responses = json!({ "type": "function", "name": "f" });
        let messages = json!({ "type": "tool", "name": "f" });
        let kind = |kind: &str| json!({ "type": kind });
        let rows = [
            [chat, responses, messages],
            [json!("auto"), json!("auto"), kind("auto")],
            [json!("none"), json!("none"), kind("none")],
            [json!("required"), json!("required"), kind("any")],
        ];
        let forms = [ToolChoiceForm::Chat, ToolChoiceForm::Responses, ToolChoiceForm::Messages];
        let chat = json!({ "type": "allowed_tools", "allowed_tools": { "mode": "auto", "tools": [rows[0][0]] } });
        let responses = json!({ "type": "allowed_tools", "mode": "auto", "tools": [rows[0][1]] });
        assert_eq!(ToolChoiceForm::Chat.translated(&responses), Some(chat.clone()));
        assert_eq!(ToolChoiceForm::Responses.translated(&chat), Some(responses.clone()));
        assert_eq!(ToolChoiceForm::Chat.translated(&chat), None);
        assert_eq!(ToolChoiceForm::Responses.translated(&responses), None);
        for row in rows {
            for choice in &row {
                for (form, expect) in forms.into_iter().zip(&row) {
                    assert_eq!(&form.translated(choice).unwrap_or_else(|| choice.clone()), expect, "{choice} {form:?}");
                }
            }
        }
        for form in forms {
            for unknown in
                [json!(7), json!("f"), kind("web_search"), kind("function"), json!({ "type": "custom", "name": "f" })]
            {
                assert_eq!(form.translated(&unknown), None, "{unknown} {form:?}");
            }
        }
    }
}
