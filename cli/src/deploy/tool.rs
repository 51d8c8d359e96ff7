//! External programs that deployment needs: image builders and kubectl.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::failure::Failure;

/// Why an external program could not be run.
#[derive(Debug)]
pub(crate) enum ToolError {
    /// None of these programs is on PATH.
    Missing { names: String, purpose: &'static str },
    /// The program could not be started.
    NotStarted { name: String, err: std::io::Error },
    /// The program ran and failed; its own messages were printed before.
    Failed { command: String, status: ExitStatus },
}

impl fmt::Display for ToolError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { names, purpose } => write!(out, "cannot {purpose}: {names} is not on PATH"),
            Self::NotStarted { name, err } => write!(out, "cannot start {name}: {err}"),
            Self::Failed { command, status } => write!(out, "{command} failed: {status}"),
        }
    }
}

impl From<ToolError> for Failure {
    fn from(err: ToolError) -> Self {
        Self(err.to_string())
    }
}

/// An external program that was found on PATH.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    path: PathBuf,
    /// Arguments before the arguments of each call.
    first: Vec<String>,
}

impl Tool {
    /// Finds the first of these programs that is on PATH.
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

    /// Finds kubectl, which then uses the cluster of this context.
    pub(crate) fn kubectl(context: Option<&str>) -> Result<Self, ToolError> {
        let kubectl = Self::find(&["kubectl"], "connect to a cluster")?;
        let first = context.map(|context| format!("--context={context}")).into_iter().collect();
        Ok(Self { first, ..kubectl })
    }

    /// Runs the program and shows its output on standard error.
    pub(crate) fn run<T: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = T>) -> Result<(), ToolError> {
        let mut command = self.command(arguments);
        command.stdout(std::io::stderr()); // our standard output is for results only
        let status = command.status().map_err(|err| self.not_started(err))?;
        self.check(&command, status)
    }

    /// Runs the program; its output becomes that of this command.
    pub(crate) fn show<T: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = T>) -> Result<(), ToolError> {
        let mut command = self.command(arguments);
        let status = command.status().map_err(|err| self.not_started(err))?;
        self.check(&command, status)
    }

    /// Runs the program and returns what it prints; its error messages are shown.
    pub(crate) fn output<T: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = T>) -> Result<String, ToolError> {
        let mut command = self.command(arguments);
        let output = command.stderr(Stdio::inherit()).output().map_err(|err| self.not_started(err))?;
        self.check(&command, output.status)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Returns the command line, ready to be started.
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
        Err(ToolError::Failed { command: format!("{} {}", self.name, verb.unwrap_or_default()), status })
    }
}
