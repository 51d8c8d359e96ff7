//! Finds the public items without an example.

use rustdoc_types::{Crate, Id, Item, ItemEnum, Visibility};

/// Returns the names of the items without an example: modules, types, traits, functions, constants, and the methods and
/// constants of types. Fields, variants and the items of a trait belong to the example of their parent.
pub fn missing(interface: &Crate) -> Vec<String> {
    let mut found = Vec::new();
    visit(interface, &interface.root, "", &mut found);
    found
}

/// Adds an item without an example, and visits its members.
fn visit(interface: &Crate, id: &Id, path: &str, found: &mut Vec<String>) {
    let Some(item) = interface.index.get(id) else { return };
    let name = match &item.inner {
        ItemEnum::Use(reexport) => match reexport.id.filter(|id| interface.index.contains_key(id)) {
            Some(id) => return visit(interface, &id, path, found),
            // The item is in another crate: the documentation of the re-export counts.
            None => reexport.name.as_str(),
        },
        _ => item.name.as_deref().unwrap_or_default(),
    };
    let path = if path.is_empty() { name.to_owned() } else { format!("{path}::{name}") };
    if !item.docs.as_deref().unwrap_or_default().contains("```") {
        found.push(path.clone());
    }
    for id in members(interface, item) {
        visit(interface, &id, &path, found);
    }
}

/// Returns the public members of an item: all items of a module, the inherent items of a type.
fn members(interface: &Crate, item: &Item) -> Vec<Id> {
    let impls = match &item.inner {
        ItemEnum::Module(module) => return module.items.clone(),
        ItemEnum::Struct(declared) => &declared.impls,
        ItemEnum::Enum(declared) => &declared.impls,
        _ => return Vec::new(),
    };
    let inherent = impls.iter().filter_map(|id| match &interface.index.get(id)?.inner {
        ItemEnum::Impl(block) if block.trait_.is_none() => Some(&block.items),
        _ => None,
    });
    let is_public = |id: &Id| interface.index.get(id).is_some_and(|item| item.visibility == Visibility::Public);
    inherent.flatten().copied().filter(is_public).collect()
}
