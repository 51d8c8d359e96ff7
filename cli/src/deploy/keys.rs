//! `causerie keys`: creates, lists and revokes the keys of hosted servers.

use std::path::Path;

use causerie_server::access::keys::{Key, KeyFile, KeysError};
use jiff::Timestamp;

use crate::arguments::{KeysAction, KeysArguments};
use crate::failure::Failure;
use crate::folder::key_file;
use crate::output::{print_line, remark};

pub(crate) fn run(arguments: &KeysArguments) -> Result<(), Failure> {
    let path = key_file(arguments.keys.as_deref());
    let file = KeyFile::new(&path);
    match &arguments.action {
        KeysAction::Create { org } => create(&file, &path, org),
        KeysAction::List => list(&file, &path),
        KeysAction::Revoke { id } => revoke(&file, &path, id),
    }
}

fn create(file: &KeyFile, path: &Path, org: &str) -> Result<(), Failure> {
    let (key, shown) = Key::create(org)?;
    let id = key.id.clone();
    file.change(|keys| keys.push(key))?;
    if let Err(err) = print_line(&shown) {
        // Nobody knows the key.
        file.change(|keys| keys.retain(|key| key.id != id))?;
        return Err(err.into());
    }
    remark(format_args!(
        "A new key of {org}, which is not shown again; its hash is stored in {}.\nClients send it as: Authorization: Key {shown}",
        path.display()
    ));
    Ok(())
}

fn list(file: &KeyFile, path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        remark(format_args!("there are no keys at {}", path.display()));
        return Ok(());
    }
    for Key { id, owner, created, revoked, .. } in file.read()? {
        let revoked = revoked.map(|revoked| format!("  revoked {revoked:.0}")).unwrap_or_default();
        print_line(format_args!("{id}  {owner}  created {created:.0}{revoked}"))?;
    }
    Ok(())
}

fn revoke(file: &KeyFile, path: &Path, id: &str) -> Result<(), Failure> {
    let now = Timestamp::now();
    let found = file.change(|keys| {
        let key = keys.iter_mut().find(|key| key.id == id)?;
        Some(*key.revoked.get_or_insert(now))
    })?;
    match found {
        Some(since) if since == now => remark(format_args!("{id} is revoked")),
        Some(since) => remark(format_args!("{id} was already revoked on {since:.0}")),
        None => return Err(Failure(format!("no key {id} at {}", path.display()))),
    }
    Ok(())
}

impl From<KeysError> for Failure {
    fn from(err: KeysError) -> Self {
        Self(err.to_string())
    }
}
