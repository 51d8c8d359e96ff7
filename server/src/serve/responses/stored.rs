//! Stored responses: `GET` and `DELETE /v1/responses/{id}`, and `GET /v1/responses/{id}/input_items`.

use serde_json::{Map, Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::request::content::parts_of;
use crate::serve::response_store::ResponseStore;

/// The most items of one page, and how many it has if the request does not say.
const MAX_ITEMS: usize = 100;
const USUAL_ITEMS: usize = 20;

/// A stored response, as its request was answered.
pub(in crate::serve) fn retrieve(store: &ResponseStore, id: &str, query: &str) -> Result<Json, HttpError> {
    if value_of(query, "stream").is_some_and(|stream| stream != "false") {
        let message = "stream must be left out: a stored response is returned whole";
        return Err(HttpError::unsupported("stream", message));
    }
    store.response(id).ok_or_else(|| missing(id))
}

/// Forgets a response.
pub(in crate::serve) fn delete(store: &ResponseStore, id: &str) -> Result<Json, HttpError> {
    if store.remove(id) { Ok(json!({ "id": id, "object": "response", "deleted": true })) } else { Err(missing(id)) }
}

/// A page of the items that a response replied to, the newest first unless the request asks for the oldest.
pub(in crate::serve) fn input_items(store: &ResponseStore, id: &str, query: &str) -> Result<Json, HttpError> {
    let items = store.input(id).ok_or_else(|| missing(id))?;
    let number = id.strip_prefix("resp_").unwrap_or(id);
    let mut items: Vec<Json> = items.into_iter().enumerate().map(|(i, item)| complete(item, number, i)).collect();
    match value_of(query, "order") {
        None | Some("desc") => items.reverse(),
        Some("asc") => {}
        Some(order) => return Err(HttpError::value("order", format!("order must be asc or desc, found {order:?}"))),
    }
    let limit = match value_of(query, "limit") {
        None => USUAL_ITEMS,
        Some(limit) => limit.parse().ok().filter(|limit| (1..=MAX_ITEMS).contains(limit)).ok_or_else(|| {
            HttpError::value("limit", format!("limit must be an integer from 1 to {MAX_ITEMS}, found {limit:?}"))
        })?,
    };
    let start = match value_of(query, "after") {
        None => 0,
        Some(after) => items.iter().position(|item| item["id"] == after).map(|at| at + 1).ok_or_else(|| {
            HttpError::value("after", format!("after must be the id of an item of this response, found {after:?}"))
        })?,
    };
    let page: Vec<Json> = items.iter().skip(start).take(limit).cloned().collect();
    let id_of = |item: Option<&Json>| item.map(|item| item["id"].clone()).unwrap_or_default();
    Ok(json!({
        "object": "list",
        "first_id": id_of(page.first()),
        "last_id": id_of(page.last()),
        "has_more": start + page.len() < items.len(),
        "data": page,
    }))
}

/// An item with what clients expect of one, whatever its request left out.
fn complete(item: Json, response: &str, index: usize) -> Json {
    let Json::Object(mut item) = item else { return item };
    let kind = item.get("type").and_then(Json::as_str).unwrap_or("message").to_owned();
    if item.get("id").is_none_or(Json::is_null) {
        item.insert("id".to_owned(), json!(format!("{}_{response}_in{index}", prefix(&kind))));
    }
    if kind == "message" {
        complete_message(&mut item);
    }
    if kind != "reasoning" {
        item.entry("status").or_insert_with(|| json!("completed"));
    }
    item.insert("type".to_owned(), json!(kind));
    Json::Object(item)
}

fn prefix(kind: &str) -> &'static str {
    match kind {
        "message" => "msg",
        "reasoning" => "rs",
        "function_call" => "fc",
        _ => "item",
    }
}

/// A content that is a string becomes one part of text.
fn complete_message(message: &mut Map<String, Json>) {
    let is_reply = message.get("role").is_some_and(|role| role == "assistant");
    let Some(content) = message.get_mut("content") else { return };
    let Ok(mut parts) = parts_of("content", Some(content.take())) else { return };
    for part in parts.iter_mut().filter(|part| part["type"] == "text") {
        part["type"] = json!(if is_reply { "output_text" } else { "input_text" });
        if is_reply {
            part["annotations"] = json!([]);
        }
    }
    *content = Json::Array(parts);
}

/// The value of a name in a query. Ids and numbers need no escapes.
fn value_of<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').filter_map(|pair| pair.split_once('=')).find(|(found, _)| *found == name).map(|(_, value)| value)
}

fn missing(id: &str) -> HttpError {
    HttpError::not_found(format!(
        "no response with the id {id:?} is stored: it may be too old, or was not to be stored"
    ))
}
