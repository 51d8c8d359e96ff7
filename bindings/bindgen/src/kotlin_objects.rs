//! The public classes of Kotlin whose objects live in the engine, the interfaces that apps implement, and functions: all pass on
//! to the hidden ones.

use std::fmt::Write;

use anyhow::Result;
use uniffi_bindgen::ComponentInterface;
use uniffi_bindgen::interface::{Argument, AsType, Callable, Object, Type};

use crate::kotlin::{COMPANIONS, HEADER, HIDDEN, MEMBERS, documentation, entry, member, type_name, write_body};

/// Classes of which apps may write their own, and the hand-written interface or class with further members.
const INTERFACES: [(&str, &str); 5] = [
    ("Conversation", "TypedConversation()"),
    ("EmbeddingModel", "EmbeddingModelMembers"),
    ("LiveTranscription", "LiveTranscriptionMembers"),
    ("ModelRunner", "ModelRunnerMembers"),
    ("Transcriber", "TranscriberMembers"),
];

/// What only the hand-written sources use.
const INTERNAL: [&str; 4] = ["DecisionCancel", "LogSink", "set_log_sink", "ModelRunner.decide_until"];

/// Methods without arguments that change nothing.
const PROPERTIES: [&str; 10] = [
    "context_size",
    "device_note",
    "functions",
    "history",
    "info",
    "is_generating",
    "languages",
    "model_runner",
    "prefill_progress",
    "supports_function_calling",
];

/// Names of methods around which others are written by hand.
const RENAMED: [(&str, &str); 1] = [("speak", "start_speech")];

/// Methods that do more than to pass on.
const OWN: [(&str, &str); 5] = [
    ("create_conversation", "Conversation(raw.createConversation(systemPrompt)).also { it.model = model }"),
    (
        "create_conversation_from_history",
        "Conversation(raw.createConversationFromHistory(history)).also { it.model = model }",
    ),
    ("fork", "Conversation(raw.fork()).also { it.handlers = handlers; it.model = model }"),
    ("model_runner", "runner.value"),
    ("restore_session", "Conversation(raw.restoreSession(path)).also { it.model = model }"),
];

/// What closing does first.
const CLOSING: [(&str, &str); 2] =
    [("Conversation", "if (runner.isInitialized()) runner.value.close()"), ("ResponseStream", "stop()")];

pub(crate) fn objects(interface: &ComponentInterface) -> Result<String> {
    let mut text = format!("{HEADER}@file:JvmName(\"Causerie\")\n@file:JvmMultifileClass\n\npackage org.causerie\n");
    for object in interface.object_definitions().iter().filter(|object| !INTERNAL.contains(&object.name())) {
        if object.has_callback_interface() {
            write_callback(&mut text, object)?;
        } else {
            write_interface(&mut text, object)?;
            write_class(&mut text, object)?;
        }
    }
    for function in interface.function_definitions().iter().filter(|one| !INTERNAL.contains(&one.name())) {
        let docs = documentation(function.docstring(), "");
        write!(text, "\n{docs}{}\n", forwarded(function, function.name(), HIDDEN, "public "))?;
    }
    Ok(text)
}

/// An interface that apps implement, and what passes the engine's calls on to it.
fn write_callback(text: &mut String, object: &Object) -> Result<()> {
    let name = object.name();
    let (mut own, mut passed) = (Vec::new(), Vec::new());
    for method in object.methods() {
        let (parameters, _) = lists(&method.arguments());
        let (called, kind) = (member(method.name()), kind(method));
        let docs = documentation(method.docstring(), "");
        own.push(format!("{docs}{}public fun {called}({parameters}): {kind}", throws(method)));
        let hidden = |one: &Argument| match one.as_type() {
            Type::Object { name, .. } => (format!("{HIDDEN}.{name}"), format!("{name}({})", member(one.name()))),
            other => (type_name(&other), member(one.name())),
        };
        let (types, values): (Vec<_>, Vec<_>) = method.arguments().iter().map(|one| hidden(one)).unzip();
        let names = method.arguments();
        let parameters: Vec<_> =
            names.iter().zip(types).map(|(one, kind)| format!("{}: {kind}", member(one.name()))).collect();
        passed.push(format!(
            "override fun {called}({}): {kind} = own.{called}({})",
            parameters.join(", "),
            values.join(", ")
        ));
    }
    write!(text, "\n{}public fun interface {name}", documentation(object.docstring(), ""))?;
    write_body(text, &own, "")?;
    write!(text, "\ninternal class {name}Adapter(private val own: {name}) : {HIDDEN}.{name}")?;
    write_body(text, &passed, "")
}

/// The calls of a class, for apps that wrap it.
fn write_interface(text: &mut String, object: &Object) -> Result<()> {
    let name = object.name();
    if entry(&INTERFACES, name).is_none() {
        return Ok(());
    }
    let declared = |method: &dyn Callable, called: &str, docs: Option<&str>| {
        let docs = documentation(docs, "");
        if PROPERTIES.contains(&called) {
            return format!("{docs}public val {}: {}", member(called), kind(method));
        }
        let suspend = if method.is_async() { "suspend " } else { "" };
        let (throws, parameters) = (throws(method), lists(&method.arguments()).0);
        format!("{docs}{throws}public {suspend}fun {}({parameters}): {}", public(called), kind(method))
    };
    let methods = object.methods();
    let is_public = |method: &str| !INTERNAL.contains(&&*format!("{name}.{method}"));
    let members = methods.iter().filter(|method| is_public(method.name()));
    let members: Vec<_> = members.map(|method| declared(*method, method.name(), method.docstring())).collect();
    write!(text, "\n/** The calls of [{name}] that the engine answers. */\npublic interface {name}Interface")?;
    write_body(text, &members, "")
}

fn write_class(text: &mut String, object: &Object) -> Result<()> {
    let name = object.name();
    let interface = entry(&INTERFACES, name);
    let mut members: Vec<String> = entry(&MEMBERS, name).into_iter().map(str::to_owned).collect();
    if let Some(constructor) = object.primary_constructor() {
        let (parameters, arguments) = lists(&constructor.arguments());
        let docs = documentation(constructor.docstring(), "");
        let throws = throws(constructor);
        members.push(format!("{docs}{throws}public constructor({parameters}) : this({HIDDEN}.{name}({arguments}))"));
    }
    for method in object.methods() {
        if INTERNAL.contains(&&*format!("{name}.{}", method.name())) {
            continue;
        }
        let (docs, modifier) = match interface {
            Some(_) => (String::new(), "override "),
            None => (documentation(method.docstring(), ""), "public "),
        };
        members.push(docs + &forwarded(method, method.name(), "raw", modifier));
    }
    let closing = entry(&CLOSING, name).map(|first| format!("    {first}\n")).unwrap_or_default();
    members.push(format!(
        "/** Frees what the engine holds for this object. Calls that are under way end first. */\n\
         override fun close() {{\n{closing}    raw.close()\n}}"
    ));
    members.extend(companion(object));
    write!(text, "\n{}public class {name} internal constructor(", documentation(object.docstring(), ""))?;
    write!(
        text,
        "internal val raw: {HIDDEN}.{name}) : {}AutoCloseable",
        interface.map(|name| format!("{name}, ")).unwrap_or_default()
    )?;
    write_body(text, &members, "")
}

/// What tells Java that a call may throw.
fn throws(callable: &dyn Callable) -> &'static str {
    if callable.throws_type().is_some() { "@Throws(SdkException::class)\n" } else { "" }
}

fn companion(object: &Object) -> Option<String> {
    let constructors = object.alternate_constructors();
    match entry(&COMPANIONS, object.name()) {
        Some("") => Some("public companion object".into()),
        Some(interface) => Some(format!("public companion object : {interface}")),
        None if constructors.is_empty() => None,
        None => {
            let mut text = "public companion object {\n".to_owned();
            for one in constructors {
                let on = format!("{HIDDEN}.{}", object.name());
                let called = documentation(one.docstring(), "") + &forwarded(one, one.name(), &on, "public ");
                text.extend(called.lines().map(|line| format!("    {line}\n")));
            }
            Some(text + "}")
        }
    }
}

/// A method or function that passes on to the hidden one.
fn forwarded(callable: &dyn Callable, name: &str, on: &str, modifier: &str) -> String {
    let (parameters, arguments) = lists(&callable.arguments());
    let kind = kind(callable);
    let call = match entry(&OWN, name) {
        Some(own) => own.to_owned(),
        None => lifted(&format!("{on}.{}({arguments})", member(name)), callable.return_type()),
    };
    if PROPERTIES.contains(&name) {
        return format!("{modifier}val {}: {kind} get() = {call}", member(name));
    }
    let throws = throws(callable);
    let suspend = if callable.is_async() { "suspend " } else { "" };
    // The interface has the defaults.
    let parameters = if modifier == "override " { parameters.replace(" = null", "") } else { parameters };
    format!("{throws}{modifier}{suspend}fun {}({parameters}): {kind} = {call}", public(name))
}

fn public(name: &str) -> String {
    member(entry(&RENAMED, name).unwrap_or(name))
}

fn kind(callable: &dyn Callable) -> String {
    callable.return_type().map_or("Unit".into(), type_name)
}

/// Parameters with their types, and the arguments that are passed on.
fn lists(arguments: &[&Argument]) -> (String, String) {
    let parameter = |one: &&Argument| {
        let default = if one.default_value().is_some() { " = null" } else { "" };
        format!("{}: {}{default}", member(one.name()), type_name(&one.as_type()))
    };
    let parameters: Vec<_> = arguments.iter().map(parameter).collect();
    let values: Vec<_> = arguments.iter().map(|one| lowered(&member(one.name()), &one.as_type())).collect();
    (parameters.join(", "), values.join(", "))
}

/// An argument as a hidden object, if it is a public one.
fn lowered(value: &str, kind: &Type) -> String {
    match kind {
        Type::Object { name, imp, .. } if imp.has_callback_interface() => format!("{name}Adapter({value})"),
        Type::Object { .. } => format!("{value}.raw"),
        Type::Optional { inner_type } => match &**inner_type {
            Type::Object { name, imp, .. } if imp.has_callback_interface() => format!("{value}?.let(::{name}Adapter)"),
            Type::Object { .. } => format!("{value}?.raw"),
            _ => value.to_owned(),
        },
        _ => value.to_owned(),
    }
}

/// A result as a public object, if it is a hidden one.
fn lifted(call: &str, kind: Option<&Type>) -> String {
    match kind {
        Some(Type::Object { name, .. }) => format!("{name}({call})"),
        Some(Type::Sequence { inner_type }) => match &**inner_type {
            Type::Object { name, .. } => format!("{call}.map(::{name})"),
            _ => call.to_owned(),
        },
        _ => call.to_owned(),
    }
}
