"""Asks Codex and Claude Code, from their npm packages, one question each of a server with a real model: `agents.py FOLDER`.

Both programs run with settings and folders of their own, and reach nothing but this server.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

PACKAGES = {"@openai/codex": "0.171.0", "@anthropic-ai/claude-code": "2.1.332"}
MODEL = "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf"
# Their own instructions and tools fill tens of thousands of tokens.
CONTEXT = "32768"
QUESTION = "Reply with the single word hello. Do not run any command."
SECONDS = 1800

# A name that Codex knows makes it declare its tools in an item of the input.
CODEX = """
model = "{model}"
model_provider = "local"
approval_policy = "never"
sandbox_mode = "read-only"
[model_providers.local]
name = "local"
base_url = "{url}/v1"
wire_api = "responses"
stream_idle_timeout_ms = 1800000
[mcp_servers.weather]
command = "{python}"
args = ["{server}"]
"""


def install(folder):
    """Installs the programs, unless these versions are there."""
    installed = folder / "installed.json"
    if not installed.exists() or json.loads(installed.read_text()) != PACKAGES:
        names = [f"{name}@{version}" for name, version in PACKAGES.items()]
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder]
        subprocess.run([*npm, *names], check=True, stdout=sys.stderr)
        installed.write_text(json.dumps(PACKAGES))


def ask(command, home, variables):
    """Runs a program in an empty folder, and returns what it printed; None if it failed."""
    work = home / "work"
    work.mkdir(parents=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    done = subprocess.run(
        command, cwd=work, env=kept | {"HOME": str(home)} | variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=SECONDS,
    )
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
        return None
    return done.stdout.strip()


def codex(folder, url, home, model):
    (home / "codex").mkdir(parents=True)
    server = pathlib.Path(__file__).with_name("weather_mcp.py")
    settings = CODEX.format(model=model, url=url, python=sys.executable, server=server)
    (home / "codex" / "config.toml").write_text(settings)
    command = [folder / "node_modules/.bin/codex", "exec", "--skip-git-repo-check", QUESTION]
    return ask(command, home, {"CODEX_HOME": str(home / "codex")})


def claude(folder, url, home):
    command = ["node", folder / "node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs", "--print", "--model", "local", QUESTION]
    variables = {
        "ANTHROPIC_BASE_URL": url, "ANTHROPIC_AUTH_TOKEN": "placeholder", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1", "API_TIMEOUT_MS": str(SECONDS * 1000), "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "128",
    }
    return ask(command, home, variables)


def statuses(url):
    """The statuses of the routes that the programs use, from the server's metrics."""
    with urllib.request.urlopen(f"{url}/metrics") as reply:
        found = re.findall(r'requests_total\{route="(/v1/(?:responses|messages)[^"]*)",status="(\d+)"\} (\d+)', reply.read().decode())
    return {(route, int(status)): int(count) for route, status, count in found}


def main(folder):
    install(folder / "agents")
    server = subprocess.Popen(
        [os.environ["CAUSERIE"], "serve", "--port", "0", "--context", CONTEXT, "--model", folder / MODEL],
        stdout=subprocess.PIPE, text=True,
    )
    failed = False
    try:
        url = server.stdout.readline().split()[-1].removesuffix("/v1")
        with tempfile.TemporaryDirectory() as made:
            home = pathlib.Path(made)
            answers = {
                "Codex": lambda: codex(folder / "agents", url, home / "a", "local"),
                "Codex, by a name that it knows": lambda: codex(folder / "agents", url, home / "b", "gpt-5.6-sol"),
                "Claude Code": lambda: claude(folder / "agents", url, home / "c"),
            }
            for name, answer in answers.items():
                before, said = statuses(url), answer()
                new = {key: count - before.get(key, 0) for key, count in statuses(url).items() if count != before.get(key, 0)}
                is_met = bool(said) and bool(new) and all(status == 200 for _, status in new)
                failed |= not is_met
                shown = " ".join((said or "").split())[-60:].replace("|", " ")
                print(f"| a question by {name} | {MODEL} | {shown} | an answer, and each request 200 | {'yes' if is_met else '**no**'} |", flush=True)
                if not is_met:
                    print(new, file=sys.stderr)
    finally:
        server.terminate()
        server.wait()
    return failed


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
