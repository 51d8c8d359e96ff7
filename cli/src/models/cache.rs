//! `causerie models`: what the local cache has.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use causerie_hub::{FileState, Hub};

use crate::arguments::{ModelsAction, ModelsArguments};
use crate::byte_size;
use crate::failure::Failure;
use crate::models::pull::options;
use crate::output::{print_line, remark};

pub(crate) fn run(arguments: &ModelsArguments) -> Result<(), Failure> {
    let options = options(true)?;
    let hub = Hub::new(options.clone());
    match &arguments.action {
        ModelsAction::List { json } => list(&hub, &options.cache, *json),
        ModelsAction::Verify { name } => verify(&hub, name),
        ModelsAction::Remove { name } => {
            let freed = byte_size::format(hub.remove(name)?);
            Ok(print_line(format_args!("{freed} freed"))?)
        }
        ModelsAction::Sweep { days } => {
            let removed = hub.sweep(Duration::from_secs(u64::from(*days) * 24 * 3600))?;
            let size = removed.iter().map(|part| part.size).sum();
            let files = if removed.len() == 1 { "file" } else { "files" };
            Ok(print_line(format_args!("{} incomplete {files} removed, {}", removed.len(), byte_size::format(size)))?)
        }
    }
}

fn list(hub: &Hub, cache: &Path, is_json: bool) -> Result<(), Failure> {
    let (models, parts) = (hub.models(), hub.parts());
    if is_json {
        let lines = models.iter().map(serde_json::to_string).chain(parts.iter().map(serde_json::to_string));
        for line in lines {
            print_line(line.map_err(|err| Failure(err.to_string()))?)?;
        }
        return Ok(());
    }
    let width = models.iter().map(|model| model.name.len()).max().unwrap_or_default();
    for model in &models {
        let commit = model.commit.get(..12).unwrap_or(&model.commit);
        let companions: Vec<_> = model.companions.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        let with = if companions.is_empty() { String::new() } else { format!("  with {}", companions.join(", ")) };
        let size = byte_size::format(model.size);
        print_line(format_args!("{:width$}  {size:>10}  {commit}{with}", model.name))?;
    }
    for part in &parts {
        let size = byte_size::format(part.size);
        print_line(format_args!("{}: {size} of an interrupted download", part.repository))?;
    }
    if !parts.is_empty() {
        remark(
            "`causerie pull` of the same name continues a download; `causerie models sweep --days 0` removes what is left",
        );
    } else if models.is_empty() {
        remark(format_args!("no models in {}: `causerie pull NAME` downloads one", cache.display()));
    }
    Ok(())
}

fn verify(hub: &Hub, name: &str) -> Result<(), Failure> {
    let files = hub.verify(name, |_| ControlFlow::Continue(()))?;
    for file in &files {
        let found = match file.state {
            FileState::Right => "right",
            FileState::Damaged => "DAMAGED",
            FileState::Unknown => "no digest is known",
        };
        print_line(format_args!("{}: {found}", file.path))?;
    }
    match files.iter().any(|file| file.state == FileState::Damaged) {
        true => Err(Failure(format!(
            "{name} is damaged: `causerie models remove {name}` and `causerie pull {name}` repair it"
        ))),
        false => Ok(()),
    }
}
