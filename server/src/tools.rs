//! Programs that others have made and that do the work of deploying: builders of images, and kubectl.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::Failure;

/// Why a program did not do what was asked of it.
#[derive(Debug)]
pub(crate) enum ToolError {
    /// None of these is on PATH.
    Missing { names: String, purpose: &'static str },
    /// It could not be started.
    NotStarted { name: String, err: std::io::Error },
    /// It ran and failed. What it had to say stands above.
    Failed { asked: String, status: ExitStatus },
}

impl fmt::Display for ToolError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { names, purpose } => write!(out, "cannot {purpose}: {names} is not on PATH"),
            Self::NotStarted { name, err } => write!(out, "cannot start {name}: {err}"),
            Self::Failed { asked, status } => write!(out, "{asked} failed: {status}"),
        }
    }
}

impl From<ToolError> for Failure {
    fn from(err: ToolError) -> Self {
        Self(err.to_string())
    }
}

/// A program that is there.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    path: PathBuf,
    /// What stands before every request.
    first: Vec<String>,
}

impl Tool {
    /// The first of these programs that is on PATH.
    pub(crate) fn find(names: &[&str], purpose: &'static str) -> Result<Self, ToolError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let place = |name: &&str| {
            let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
            std::env::split_paths(&path).map(|folder| folder.join(&file)).find(|path| path.is_file())
        };
        let found =
            names.iter().find_map(|name| Some(Self { name: (*name).to_owned(), path: place(name)?, first: vec![] }));
        found.ok_or_else(|| ToolError::Missing { names: names.join(" or "), purpose })
    }

    /// kubectl, and which cluster it speaks to.
    pub(crate) fn kubectl(context: Option<&str>) -> Result<Self, ToolError> {
        let kubectl = Self::find(&["kubectl"], "speak to a cluster")?;
        let first = context.map(|context| format!("--context={context}")).into_iter().collect();
        Ok(Self { first, ..kubectl })
    }

    /// Runs it; what it says is shown.
    pub(crate) fn run<T: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = T>) -> Result<(), ToolError> {
        let mut command = self.command(arguments);
        command.stdout(std::io::stderr()); // ours is for what was asked of us
        let status = command.status().map_err(|err| self.not_started(err))?;
        self.check(&command, status)
    }

    /// Runs it; what it says stands in our place.
    pub(crate) fn show<T: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = T>) -> Result<(), ToolError> {
        let mut command = self.command(arguments);
        let status = command.status().map_err(|err| self.not_started(err))?;
        self.check(&command, status)
    }

    /// Runs it and gives back what it prints; complaints are shown.
    pub(crate) fn output<T: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = T>) -> Result<String, ToolError> {
        let mut command = self.command(arguments);
        let output = command.stderr(Stdio::inherit()).output().map_err(|err| self.not_started(err))?;
        self.check(&command, output.status)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// The program as it would be run.
    pub(crate) fn command<T: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = T>) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.first).args(arguments).stdin(Stdio::null());
        command
    }

    fn not_started(&self, err: std::io::Error) -> ToolError {
        ToolError::NotStarted { name: self.name.clone(), err }
    }

    fn check(&self, command: &Command, status: ExitStatus) -> Result<(), ToolError> {
        if status.success() {
            return Ok(());
        }
        let verb = command.get_args().map(OsStr::to_string_lossy).find(|argument| !argument.starts_with('-'));
        Err(ToolError::Failed { asked: format!("{} {}", self.name, verb.unwrap_or_default()), status })
    }
}
