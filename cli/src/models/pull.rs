//! `causerie pull`, and the download of a model that another command names.

use std::fs;
use std::path::{Path, PathBuf};

use causerie::names::{ModelName, find_in_cache};
use causerie_hub::{DownloadPlan, Hub, HubOptions, ModelLock, PullProgress};

use crate::arguments::PullArguments;
use crate::failure::Failure;
use crate::model::LocalModel;
use crate::models::report::DownloadReport;

/// The options of the environment and of the command line.
pub(crate) fn options(is_offline: bool) -> Result<HubOptions, Failure> {
    let mut options = HubOptions::from_environment()?;
    options.is_offline |= is_offline;
    Ok(options)
}

pub(crate) fn run(arguments: &PullArguments, is_offline: bool) -> Result<(), Failure> {
    let report = if arguments.json { DownloadReport::JsonLines } else { DownloadReport::Terminal };
    let options = options(is_offline)?;
    let download = Download { hub: Hub::new(options.clone()), options, report };
    if download.options.is_offline && arguments.lock.is_none() && arguments.to.is_none() {
        return arguments.names.iter().try_for_each(|name| download.report_cached(name));
    }
    let plans = match &arguments.lock {
        Some(lock) if arguments.names.is_empty() => ModelLock::read(lock).map_err(|err| report.failed(err))?.models,
        _ => arguments
            .names
            .iter()
            .map(|name| download.hub.plan(name))
            .collect::<Result<_, _>>()
            .map_err(|err| report.failed(err))?,
    };
    for plan in &plans {
        download.fetch(plan)?;
        if let Some(folder) = &arguments.to {
            download.copy(plan, folder)?;
        }
    }
    match &arguments.lock {
        Some(lock) if !arguments.names.is_empty() => {
            let recorded = plans.iter().map(|plan| download.hub.recorded(plan)).collect();
            Ok(fs::write(lock, ModelLock::new(recorded).to_json())?)
        }
        _ => Ok(()),
    }
}

/// The model that a command names, or the demo model. Unless the cache has it, it is downloaded, after a line with its size.
/// `watch` gets the progress.
pub(crate) fn ensure(
    name: Option<&str>,
    is_offline: bool,
    watch: impl FnMut(&PullProgress),
) -> Result<LocalModel, Failure> {
    let Some(name) = name else { return Ok(LocalModel::Demo) };
    let place = match ModelName::parse(name).filter(|_| !Path::new(name).exists()) {
        Some(model) => find_or_download(&model, is_offline, watch)?,
        // A path. If nothing is there, loading reports it.
        None => PathBuf::from(name),
    };
    Ok(LocalModel::Named { name: name.to_owned(), place })
}

fn find_or_download(model: &ModelName, is_offline: bool, watch: impl FnMut(&PullProgress)) -> Result<PathBuf, Failure> {
    let options = options(is_offline)?;
    if let Ok(place) = find_in_cache(model, &options.cache) {
        return Ok(place);
    }
    let (hub, report) = (Hub::new(options.clone()), DownloadReport::Terminal);
    let plan = hub.plan(&model.to_string())?;
    Download { hub, options, report }.begin(&plan, watch)
}

struct Download {
    hub: Hub,
    options: HubOptions,
    report: DownloadReport,
}

impl Download {
    /// Reports a model that the cache has. Without requests, that is all there is to do.
    fn report_cached(&self, name: &str) -> Result<(), Failure> {
        let found = self.hub.pull(name, |_| std::ops::ControlFlow::Continue(()));
        Ok(self.report.ready(name, &found.map_err(|err| self.report.failed(err))?)?)
    }

    fn fetch(&self, plan: &DownloadPlan) -> Result<(), Failure> {
        Ok(self.report.ready(&plan.name, &self.begin(plan, |_| {})?)?)
    }

    fn begin(&self, plan: &DownloadPlan, mut watch: impl FnMut(&PullProgress)) -> Result<PathBuf, Failure> {
        let missing = self.hub.missing_bytes(plan);
        let is_address = plan.files.iter().any(|file| file.url.is_some());
        let page =
            if is_address { plan.name.clone() } else { format!("{}/{}", self.options.endpoint, plan.repository) };
        self.report.plan(plan, missing, &page)?;
        let mut report = self.report.progress();
        let progress = |progress: &PullProgress| {
            watch(progress);
            report.show(progress)
        };
        let fetched = self.hub.fetch(plan, progress);
        report.written?;
        fetched.map_err(|err| self.report.failed(err))
    }

    /// Copies the files of a model as plain files, each under a name that is complete only when its content is.
    fn copy(&self, plan: &DownloadPlan, folder: &Path) -> Result<(), Failure> {
        let snapshot = self.hub.snapshot(plan);
        for file in &plan.files {
            let target = folder.join(&file.path);
            let failed = |err: std::io::Error| Failure(format!("cannot write {}: {err}", target.display()));
            let parent = target.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(failed)?;
            let temporary = tempfile::NamedTempFile::new_in(parent).map_err(failed)?;
            fs::copy(snapshot.join(&file.path), temporary.path()).map_err(failed)?;
            temporary.persist(&target).map_err(|err| failed(err.error))?;
        }
        Ok(())
    }
}
