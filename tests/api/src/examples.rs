//! Which items of an interface show no example of their use.

use rustdoc_types::{Crate, Id, Item, ItemEnum, Visibility};

/// The names of the items without one: modules, types, traits, functions, constants, and the methods and constants of types.
/// Fields, variants and what a trait declares are shown where those are.
pub fn missing(interface: &Crate) -> Vec<String> {
    let mut found = Vec::new();
    visit(interface, &interface.root, "", &mut found);
    found
}

fn visit(interface: &Crate, id: &Id, path: &str, found: &mut Vec<String>) {
    let Some(item) = interface.index.get(id) else { return };
    let name = match &item.inner {
        ItemEnum::Use(reexport) => match reexport.id.filter(|id| interface.index.contains_key(id)) {
            Some(id) => return visit(interface, &id, path, found),
            // It lies in another crate: what is said of it here counts.
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

/// What is public in an item: of a module all, of a type what it has without a trait.
fn members(interface: &Crate, item: &Item) -> Vec<Id> {
    let impls = match &item.inner {
        ItemEnum::Module(module) => return module.items.clone(),
        ItemEnum::Struct(declared) => &declared.impls,
        ItemEnum::Enum(declared) => &declared.impls,
        _ => return Vec::new(),
    };
    let of_their_own = impls.iter().filter_map(|id| match &interface.index.get(id)?.inner {
        ItemEnum::Impl(block) if block.trait_.is_none() => Some(&block.items),
        _ => None,
    });
    let is_public = |id: &Id| interface.index.get(id).is_some_and(|item| item.visibility == Visibility::Public);
    of_their_own.flatten().copied().filter(is_public).collect()
}
