//! `causerie run --container`: the image that `deploy` would build, once, by podman or docker. At Ctrl-C the container is
//! stopped, and gone.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anstream::eprintln;
use causerie_server::serve::Auth;
use causerie_server::serve::keys::Key;
use tokio::runtime::Builder as Runtime;
use tokio::task::spawn_blocking;

use crate::Failure;
use crate::arguments::{Builder, Limits, Run};
use crate::deploy::image::Recipe;
use crate::service::{model_id, once, signals};
use crate::tools::Tool;

const KEYS: &str = "/etc/causerie/keys";
/// How often a container that starts is asked whether it is ready.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn run(arguments: &Run) -> Result<(), Failure> {
    let engine = match arguments.image.builder {
        Some(Builder::Docker) => Tool::find(&["docker"], "run a container")?,
        Some(Builder::Buildah | Builder::Podman) => Tool::find(&["podman"], "run a container")?,
        None => Tool::find(&["podman", "docker"], "run a container")?,
    };
    let (key, shown) = Key::create(&arguments.org)?;
    let folder = std::env::temp_dir().join(format!("causerie-run-{}", key.id));
    let ran = run_in(arguments, &engine, &folder, &key, &shown);
    fs::remove_dir_all(&folder)?;
    ran
}

fn run_in(arguments: &Run, engine: &Tool, folder: &Path, key: &Key, shown: &str) -> Result<(), Failure> {
    let keys = folder.join("keys");
    fs::create_dir_all(&keys)?;
    fs::write(keys.join("keys.json"), serde_json::to_vec(&[key]).map_err(std::io::Error::from)?)?;
    let image = match &arguments.image.image {
        Some(image) => image.clone(),
        None => build(arguments, engine, folder)?,
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
    command.extend(behind_serve(arguments, &path));
    // The server tells there under which address it is known to itself, which is not the one that reaches it.
    let mut command = engine.command(command);
    let child = command.stdout(Stdio::null()).spawn()?;
    let key = (Auth::from(arguments.auth) != Auth::Public).then(|| shown.to_owned());
    let asked = match (&arguments.image.image, &arguments.image.model) {
        (Some(_), None) => "…".to_owned(), // the image's own
        (_, model) => model_id(model.as_deref()),
    };
    let announce = move |host: &str| once::announce(&format!("http://{host}:{port}{path}/v1"), key.as_deref(), &asked);
    wait(engine, child, &name, (host.to_owned(), port), announce)
}

/// Builds the image, as `deploy` would.
fn build(arguments: &Run, engine: &Tool, folder: &Path) -> Result<String, Failure> {
    let recipe = Recipe::new("run", &arguments.image, None, arguments.image.model.as_deref())?;
    recipe.write(folder)?;
    recipe.build(engine, folder)?;
    Ok(recipe.reference)
}

/// What the image's program is told.
fn behind_serve(arguments: &Run, path: &str) -> Vec<String> {
    let Limits { slots, queue, max_body, drain_timeout, allow_host, allow_origin, strict_fields } = &arguments.limits;
    let auth = Auth::from(arguments.auth);
    let mut told = vec!["--base-path".to_owned(), path.to_owned(), format!("--auth={}", auth.name())];
    if auth != Auth::Public {
        told.push(format!("--keys={KEYS}/keys.json"));
    }
    told.extend([format!("--slots={slots}"), format!("--queue={queue}"), format!("--max-body={max_body}")]);
    told.push(format!("--drain-timeout={drain_timeout}"));
    told.extend(arguments.context.size.map(|size| format!("--context={size}")));
    told.extend(allow_host.iter().map(|host| format!("--allow-host={host}")));
    told.extend(allow_origin.iter().map(|origin| format!("--allow-origin={origin}")));
    told.extend(strict_fields.then(|| "--strict-fields".to_owned()));
    told
}

/// Waits for the container to be ready, announces it, and waits for its end, or for being told to end it.
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
        eprintln!("causerie: waiting for {name} to load its model");
        let mut ended = spawn_blocking(move || {
            while !is_ready(&address) {
                if let Some(status) = child.try_wait()? {
                    return Ok(status);
                }
                sleep(PAUSE);
            }
            announce(&address.0)?;
            child.wait()
        });
        let status: std::io::Result<ExitStatus> = tokio::select! {
            status = &mut ended => status.unwrap_or_else(|err| std::panic::resume_unwind(err.into_panic())),
            () = stop => {
                // Where Ctrl-C has reached the container too, it is ending already.
                let _ = engine.command(["stop", "-t", "30", name]).stdout(Stdio::null()).stderr(Stdio::null()).status();
                return ended.await.map(|_| ()).map_err(|err| Failure(err.to_string()));
            }
        };
        match status?.code() {
            Some(0) => Ok(()),
            code => Err(Failure(format!("the container ended by itself, with status {}", code.unwrap_or(-1)))),
        }
    })
}

/// Whether the server says so.
fn is_ready((host, port): &(String, u16)) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut socket = TcpStream::connect((host.as_str(), *port))?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        socket.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut line = String::new();
        BufReader::new(socket).read_line(&mut line)?;
        Ok(line)
    };
    ask().is_ok_and(|line| line.contains(" 200 "))
}
