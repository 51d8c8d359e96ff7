//! `causerie run --container`: runs the image that `deploy` would build, with podman or docker. Ctrl-C stops and removes the
//! container.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use causerie_server::access::Auth;
use causerie_server::access::keys::Key;
use tokio::runtime::Builder as Runtime;
use tokio::task::spawn_blocking;

use crate::arguments::{Builder, RunArguments, ServerLimits};
use crate::deploy::announcement;
use crate::deploy::image::ImageRecipe;
use crate::deploy::tool::Tool;
use crate::failure::Failure;
use crate::models::pull;
use crate::output::remark;
use crate::service::{model_id, signals};

/// Folder of the keys in the container.
const KEYS: &str = "/etc/causerie/keys";
/// Time between two checks whether a starting container is ready.
const READINESS_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &RunArguments, is_offline: bool) -> Result<(), Failure> {
    let engine = match arguments.image.builder {
        Some(Builder::Docker) => Tool::find(&["docker"], "run a container")?,
        Some(Builder::Buildah | Builder::Podman) => Tool::find(&["podman"], "run a container")?,
        None => Tool::find(&["podman", "docker"], "run a container")?,
    };
    let (key, shown) = Key::create(&arguments.org)?;
    let folder = std::env::temp_dir().join(format!("causerie-run-{}", key.id));
    let ran = run_in(arguments, is_offline, &engine, &folder, (&key, &shown));
    fs::remove_dir_all(&folder)?;
    ran
}

fn run_in(
    arguments: &RunArguments,
    is_offline: bool,
    engine: &Tool,
    folder: &Path,
    (key, shown): (&Key, &str),
) -> Result<(), Failure> {
    let keys = folder.join("keys");
    fs::create_dir_all(&keys)?;
    fs::write(keys.join("keys.json"), serde_json::to_vec(&[key]).map_err(std::io::Error::from)?)?;
    let image = match &arguments.image.image {
        Some(image) => image.clone(),
        None => build(arguments, is_offline, engine, folder)?,
    };
    let (name, host) = (format!("run-{}", key.id), arguments.host.as_str());
    let port = match arguments.port {
        0 => TcpListener::bind((host, 0))?.local_addr()?.port(),
        port => port,
    };
    let path = format!("/{}/{name}", arguments.org);
    let mut command = vec!["run".to_owned(), "--rm".to_owned(), format!("--name={name}")];
    command.extend(["--read-only".to_owned(), "--cap-drop=all".to_owned(), format!("--publish={host}:{port}:8080")]);
    command.extend([format!("--volume={}:{KEYS}:ro", keys.display()), image]);
    command.extend(serve_options(arguments, &path));
    // The server prints its address inside the container there, which clients cannot reach.
    let mut command = engine.command(command);
    let child = command.stdout(Stdio::null()).spawn()?;
    let key = (Auth::from(arguments.auth) != Auth::Public).then(|| shown.to_owned());
    let model_id = match (&arguments.image.image, &arguments.image.model) {
        (Some(_), None) => "…".to_owned(), // only the image knows
        (_, model) => model_id(model.as_deref()),
    };
    let announce =
        move |host: &str| announcement::print(&format!("http://{host}:{port}{path}/v1"), key.as_deref(), &model_id);
    wait(engine, child, &name, (host.to_owned(), port), announce)
}

/// Builds the image as `deploy` would, and returns its name.
fn build(arguments: &RunArguments, is_offline: bool, engine: &Tool, folder: &Path) -> Result<String, Failure> {
    let model = pull::ensure(arguments.image.model.as_deref(), is_offline, |_| {})?;
    let recipe = ImageRecipe::new("run", &arguments.image, None, &model)?;
    recipe.write(folder)?;
    recipe.build(engine, folder)?;
    Ok(recipe.reference)
}

/// Returns the options of `causerie serve` in the container.
fn serve_options(arguments: &RunArguments, path: &str) -> Vec<String> {
    let ServerLimits {
        slots,
        queue,
        max_body,
        max_sound,
        max_connections,
        drain_timeout,
        allow_host,
        allow_origin,
        allow_image_urls,
        strict_fields,
        strict_model,
    } = &arguments.limits;
    let auth = Auth::from(arguments.auth);
    let mut options = vec!["--base-path".to_owned(), path.to_owned(), format!("--auth={}", auth.name())];
    if auth != Auth::Public {
        options.push(format!("--keys={KEYS}/keys.json"));
    }
    options.extend([format!("--slots={slots}"), format!("--queue={queue}"), format!("--max-body={max_body}")]);
    options.push(format!("--max-sound={max_sound}"));
    options.extend([format!("--max-connections={max_connections}"), format!("--drain-timeout={drain_timeout}")]);
    options.extend(arguments.context.size.map(|size| format!("--context={size}")));
    options.extend(allow_host.iter().map(|host| format!("--allow-host={host}")));
    options.extend(allow_origin.iter().map(|origin| format!("--allow-origin={origin}")));
    options.extend(allow_image_urls.iter().map(|host| format!("--allow-image-urls={host}")));
    options.extend(strict_fields.then(|| "--strict-fields".to_owned()));
    options.extend(strict_model.then(|| "--strict-model".to_owned()));
    options
}

/// Waits until the container is ready, announces it, and waits until it ends or a signal stops it.
fn wait(
    engine: &Tool,
    mut child: Child,
    name: &str,
    address: (String, u16),
    announce: impl FnOnce(&str) -> std::io::Result<()> + Send + 'static,
) -> Result<(), Failure> {
    let runtime = Runtime::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stop = signals::signals()?;
        remark(format_args!("causerie: waiting for {name} to load its model"));
        let mut ended = spawn_blocking(move || {
            while !is_ready(&address) {
                if let Some(status) = child.try_wait()? {
                    return Ok(status);
                }
                sleep(READINESS_INTERVAL);
            }
            announce(&address.0)?;
            child.wait()
        });
        let status: std::io::Result<ExitStatus> = tokio::select! {
            status = &mut ended => status.unwrap_or_else(|err| std::panic::resume_unwind(err.into_panic())),
            () = stop => {
                // This may fail: Ctrl-C may have reached the container as well, and it is ending already.
                let _ = engine.command(["stop", "-t", "30", name]).stdout(Stdio::null()).stderr(Stdio::null()).status();
                return ended.await.map(|_| ()).map_err(|err| Failure(err.to_string()));
            }
        };
        match status?.code() {
            Some(0) => Ok(()),
            code => Err(Failure(format!("the container ended by itself with status {}", code.unwrap_or(-1)))),
        }
    })
}

/// Whether the server reports that it is ready.
fn is_ready((host, port): &(String, u16)) -> bool {
    let first_line = || -> std::io::Result<String> {
        let mut socket = TcpStream::connect((host.as_str(), *port))?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        socket.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut line = String::new();
        BufReader::new(socket).read_line(&mut line)?;
        Ok(line)
    };
    first_line().is_ok_and(|line| line.contains(" 200 "))
}
