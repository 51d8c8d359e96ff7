//! The generator of bindings, which `scripts/bindgen` runs.
//!
//! `causerie-bindgen kotlin LIBRARY GENERATED FOLDER` writes the public Kotlin classes of the library's interface into a folder,
//! and hides what UniFFI has generated; `causerie-bindgen swift` does so for Swift. `causerie-bindgen options FOLDER` writes the options of Python and Node from the core's
//! tables. With any other arguments, the program is UniFFI's own.

mod hidden;
mod kotlin;
mod kotlin_objects;
mod kotlin_types;
mod node;
mod python;
mod swift;
mod swift_objects;
mod swift_types;
mod tables;

use std::fs;

use anyhow::{Context, Result};
use camino::Utf8Path;
use uniffi_bindgen::{BindgenLoader, BindgenPaths, ComponentInterface, GlobalConfig};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["kotlin", library, generated, folder] => write_kotlin(library.as_ref(), generated.as_ref(), folder.as_ref()),
        ["swift", library, generated, folder] => write_swift(library.as_ref(), generated.as_ref(), folder.as_ref()),
        ["options", folder] => write_options(folder.as_ref()),
        _ => {
            uniffi::uniffi_bindgen_main();
            Ok(())
        }
    }
}

fn write_kotlin(library: &Utf8Path, generated: &Utf8Path, folder: &Utf8Path) -> Result<()> {
    let interface = interface(library)?;
    let source = fs::read_to_string(generated).with_context(|| format!("reading {generated}"))?;
    fs::create_dir_all(folder.join("ffi"))?;
    fs::write(folder.join("ffi/Generated.kt"), hidden::hide_kotlin(&source, &kotlin::own_declarations(&interface))?)?;
    fs::write(folder.join("Types.kt"), kotlin_types::types(&interface)?)?;
    fs::write(folder.join("Objects.kt"), kotlin_objects::objects(&interface)?)?;
    Ok(())
}

fn write_swift(library: &Utf8Path, generated: &Utf8Path, folder: &Utf8Path) -> Result<()> {
    let interface = interface(library)?;
    let source = fs::read_to_string(generated).with_context(|| format!("reading {generated}"))?;
    let hidden = swift_objects::hidden(&interface).into_iter().chain(swift::OWN_TYPES.map(str::to_owned));
    let hidden: Vec<String> = hidden.collect();
    fs::create_dir_all(folder)?;
    fs::write(folder.join("Generated.swift"), hidden::hide_swift(&source, &swift_types::names(&interface), &hidden)?)?;
    fs::write(folder.join("Types.swift"), swift_types::types(&interface)?)?;
    fs::write(folder.join("Objects.swift"), swift_objects::objects(&interface)?)?;
    Ok(())
}

fn write_options(folder: &Utf8Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("options.py"), python::options()?)?;
    fs::write(folder.join("_facts.py"), python::facts()?)?;
    fs::write(folder.join("options.d.ts"), node::options()?)?;
    Ok(())
}

/// The interface of the façade, from the metadata in its library.
fn interface(library: &Utf8Path) -> Result<ComponentInterface> {
    let loader = BindgenLoader::new(BindgenPaths::default(), GlobalConfig::default());
    let mut interfaces = loader.load_cis(loader.load_metadata(library)?)?;
    interfaces.pop().with_context(|| format!("{library} must have an interface"))
}
