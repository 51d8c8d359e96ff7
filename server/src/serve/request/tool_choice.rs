//! Choices of tools in the form of another route. Clients that send a foreign form of tools send their choice in it, too.

use serde_json::{Value as Json, json};

use crate::serve::request::fields::RequestFields;

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
        if let Some(choice) = fields.peek("tool_choice").and_then(|choice| self.translated(choice)) {
            fields.replace("tool_choice", choice);
        }
    }

    fn translated(self, choice: &Json) -> Option<Json> {
        let function = choice.get("function");
        let name = choice.get("name").or_else(|| function?.get("name")).and_then(Json::as_str);
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
