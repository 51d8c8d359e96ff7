//! The public classes of Swift whose objects live in the engine, the protocols that apps implement, and functions: all pass on to
//! generated ones, whose names begin with `Raw` or `raw`.

use std::fmt::Write;

use anyhow::Result;
use uniffi_bindgen::ComponentInterface;
use uniffi_bindgen::interface::{Argument, AsType, Callable, Object, Type};

use crate::swift::{HEADER, OWN_INTERFACES, documentation, member, type_name};

/// Classes that are written by hand.
const OWN: [&str; 5] = ["Conversation", "DecisionCancel", "LiveTranscription", "ResponseStream", "TranscriptStream"];

/// Functions, and methods of classes that are written here, around which others are written by hand.
const WRAPPED: [&str; 22] = [
    "EmbeddingModel.embed",
    "EmbeddingModel.embed_tokens",
    "EmbeddingModel.rerank",
    "ModelRunner.complete",
    "ModelRunner.complete_tokens",
    "ModelRunner.complete_with_images",
    "ModelRunner.create_conversation",
    "ModelRunner.create_conversation_from_history",
    "ModelRunner.decide",
    "ModelRunner.decide_until",
    "ModelRunner.restore_session",
    "ModelRunner.speak",
    "SoundFileWriter.push",
    "load_embedding_model",
    "load_model",
    "load_transcriber",
    "read_model_info",
    "set_log_sink",
    "wav_of_samples",
    "Transcriber.start_live_transcription",
    "Transcriber.start_transcription",
    "Transcriber.start_transcription_of_samples",
];

/// The generated classes and protocols, which apps do not see.
pub(crate) fn hidden(interface: &ComponentInterface) -> Vec<String> {
    let objects = interface.object_definitions().iter().map(|object| object.name().to_owned());
    objects.filter(|name| !OWN_INTERFACES.contains(&name.as_str())).collect()
}

pub(crate) fn objects(interface: &ComponentInterface) -> Result<String> {
    let mut text = HEADER.to_owned();
    for object in interface.object_definitions() {
        match object.name() {
            name if OWN.contains(&name) || OWN_INTERFACES.contains(&name) => {}
            _ if object.has_callback_interface() => write_protocol(&mut text, object)?,
            _ => write_class(&mut text, object)?,
        }
    }
    for function in interface.function_definitions().iter().filter(|one| !WRAPPED.contains(&one.name())) {
        let docs = documentation(function.docstring(), "");
        write!(
            text,
            "\n{docs}public func {}\n",
            forwarded(function, function.name(), &format!("raw{}", pascal(function.name())))
        )?;
    }
    Ok(text)
}

fn is_wrapped(class: &str, method: &str) -> bool {
    WRAPPED.contains(&&*format!("{class}.{method}"))
}

/// A protocol that apps implement, and what passes the engine's calls on to it.
fn write_protocol(text: &mut String, object: &Object) -> Result<()> {
    let name = object.name();
    writeln!(text, "\n{}public protocol {name}: AnyObject, Sendable {{", documentation(object.docstring(), ""))?;
    for method in object.methods() {
        writeln!(text, "{}    func {}", documentation(method.docstring(), "    "), signature(method, method.name()))?;
    }
    write!(text, "}}\n\nfinal class {name}Adapter: Raw{name} {{\n    let own: any {name}\n\n")?;
    writeln!(text, "    init(_ own: any {name}) {{\n        self.own = own\n    }}")?;
    for method in object.methods() {
        let parameters = method.arguments().into_iter().map(|one| {
            let kind = match one.as_type() {
                Type::Object { name, .. } => format!("Raw{name}"),
                other => type_name(&other),
            };
            format!("{}: {kind}", member(one.name()))
        });
        let arguments = method.arguments().into_iter().map(|one| match one.as_type() {
            Type::Object { name: kind, .. } => format!("{0}: {kind}({0})", member(one.name())),
            _ => format!("{0}: {0}", member(one.name())),
        });
        let (parameters, arguments) = (parameters.collect::<Vec<_>>(), arguments.collect::<Vec<_>>());
        let called = member(method.name());
        writeln!(text, "\n    func {called}({}){} {{", parameters.join(", "), effects(method))?;
        writeln!(text, "        {}own.{called}({})\n    }}", marks(method), arguments.join(", "))?;
    }
    text.push_str("}\n");
    Ok(())
}

fn write_class(text: &mut String, object: &Object) -> Result<()> {
    let name = object.name();
    writeln!(text, "\n{}public final class {name}: Sendable {{", documentation(object.docstring(), ""))?;
    write!(text, "    let raw: Raw{name}\n\n    init(_ raw: Raw{name}) {{\n        self.raw = raw\n    }}\n")?;
    if let Some(constructor) = object.primary_constructor() {
        let docs = documentation(constructor.docstring(), "    ");
        let (parameters, arguments) = lists(&constructor.arguments());
        writeln!(text, "\n{docs}    public convenience init({parameters}){} {{", effects(constructor))?;
        writeln!(text, "        self.init({}Raw{name}({arguments}))\n    }}", marks(constructor))?;
    }
    for constructor in object.alternate_constructors() {
        let docs = documentation(constructor.docstring(), "    ");
        let (parameters, arguments) = lists(&constructor.arguments());
        let called = member(constructor.name());
        writeln!(text, "\n{docs}    public static func {called}({parameters}){} -> {name} {{", effects(constructor))?;
        writeln!(text, "        {name}({}Raw{name}.{called}({arguments}))\n    }}", marks(constructor))?;
    }
    for method in object.methods().into_iter().filter(|method| !is_wrapped(name, method.name())) {
        let docs = documentation(method.docstring(), "    ");
        let forwarded = forwarded(method, method.name(), &format!("raw.{}", member(method.name())));
        writeln!(text, "\n{docs}    public func {}", forwarded.replace('\n', "\n    "))?;
    }
    text.push_str("}\n");
    Ok(())
}

fn pascal(name: &str) -> String {
    let name = member(name);
    name[..1].to_uppercase() + &name[1..]
}

/// A function with the body that passes on to another one.
fn forwarded(callable: &dyn Callable, name: &str, target: &str) -> String {
    let (_, arguments) = lists(&callable.arguments());
    let call = format!("{}{target}({arguments})", marks(callable));
    let call = match callable.return_type() {
        Some(Type::Object { name, .. }) => format!("{name}({call})"),
        Some(Type::Sequence { inner_type }) => match &**inner_type {
            Type::Object { name, .. } => format!("{call}.map({name}.init)"),
            _ => call,
        },
        _ => call,
    };
    format!("{} {{\n    {call}\n}}", signature(callable, name))
}

fn signature(callable: &dyn Callable, name: &str) -> String {
    let (parameters, _) = lists(&callable.arguments());
    let result = callable.return_type().map(|kind| format!(" -> {}", type_name(kind))).unwrap_or_default();
    format!("{}({parameters}){}{result}", member(name), effects(callable))
}

fn effects(callable: &dyn Callable) -> &'static str {
    match (callable.is_async(), callable.throws_type().is_some()) {
        (true, true) => " async throws",
        (true, false) => " async",
        (false, true) => " throws",
        (false, false) => "",
    }
}

/// What a call of it begins with.
fn marks(callable: &dyn Callable) -> &'static str {
    match (callable.is_async(), callable.throws_type().is_some()) {
        (true, true) => "try await ",
        (true, false) => "await ",
        (false, true) => "try ",
        (false, false) => "",
    }
}

/// Parameters with their types, and the arguments that are passed on.
fn lists(arguments: &[&Argument]) -> (String, String) {
    let parameters = arguments.iter().map(|one| {
        let default = if one.default_value().is_some() { " = nil" } else { "" };
        format!("{}: {}{default}", member(one.name()), type_name(&one.as_type()))
    });
    let passed = arguments.iter().map(|one| {
        let own = member(one.name());
        let value = match one.as_type() {
            Type::Object { name, imp, .. } if imp.has_callback_interface() => format!("{name}Adapter({own})"),
            Type::Object { .. } => format!("{own}.raw"),
            Type::Optional { inner_type } => match &*inner_type {
                Type::Object { name, imp, .. } if imp.has_callback_interface() => {
                    format!("{own}.map({name}Adapter.init)")
                }
                _ => own.clone(),
            },
            _ => own.clone(),
        };
        format!("{own}: {value}")
    });
    (parameters.collect::<Vec<_>>().join(", "), passed.collect::<Vec<_>>().join(", "))
}
