"""Downloads, from a fake hub on loopback. `tests/fixtures/downloads/README.md` describes the scenarios."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import FIXTURES

import causerie
from causerie import DownloadPlan, Hub, PullProgress, PullState, SdkError

SCENARIOS = json.loads((FIXTURES / "downloads/scenarios.json").read_text())


class FakeHub:
    def __init__(self) -> None:
        program = Path(os.environ["CAUSERIE_LIB_DIR"]) / "examples/fake_hub"
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self._line()

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().rstrip("\n")

    def tell(self, line: str = "") -> list[str]:
        assert self._process.stdin
        print(line, file=self._process.stdin, flush=True)
        return list(iter(self._line, ""))

    def stop(self) -> None:
        self._process.communicate()


@pytest.fixture
def fake() -> Iterator[FakeHub]:
    fake = FakeHub()
    yield fake
    fake.stop()


def hub(fake: FakeHub, folder: Path) -> Hub:
    return Hub(cache=folder / "hub", endpoint=fake.url, token="hf_accepted", is_offline=False, retry_pause=0.001)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario["name"] for scenario in SCENARIOS])
def test_scenarios(scenario: dict[str, Any], fake: FakeHub, tmp_path: Path) -> None:
    player = Player(fake, tmp_path)
    for step in scenario["steps"]:
        player.play(step)


class Player:
    def __init__(self, fake: FakeHub, folder: Path) -> None:
        self.fake, self.folder, self.restarts = fake, folder, False
        # Without a token: the scenarios say what the hub answers then.
        self.hub = Hub(cache=folder / "hub", endpoint=fake.url, is_offline=False, retry_pause=0.001)

    def play(self, step: dict[str, Any]) -> None:
        kind = next(iter(step))
        if kind in ("pull", "find", "load", "fetch"):
            try:
                path = getattr(self, kind)(step)
            except SdkError as err:
                fault = f"/{err.fault}" if isinstance(err, SdkError.Download) else ""
                assert step.get("error") == type(err).__name__ + fault, err
                assert step.get("says", "") in err.reason
            else:
                assert "error" not in step and str(path).endswith(step.get("path", "")), (step, path)
        elif kind == "remove":
            assert step["freed"] <= self.hub.remove(step["remove"])
        elif kind == "models":
            assert [model.name for model in self.hub.models()] == step["models"]
        elif kind == "requests":
            assert len(self.fake.tell()) == step["requests"]
        elif kind == "restart":
            self.restarts = True
        else:
            self.fake.tell(json.dumps(step))

    def pull(self, step: dict[str, Any]) -> Path:
        reported: list[PullProgress] = []

        def report(progress: PullProgress) -> bool:
            reported.append(progress)
            return not ("cancel_at" in step and step["cancel_at"] <= progress.done)

        try:
            return self.hub.pull(step["pull"], progress=report)
        finally:
            assert [progress.done for progress in reported] == sorted(progress.done for progress in reported)
            for key in ("total", "resumed_from"):
                assert key not in step or getattr(reported[-1], key) == step[key]

    def find(self, step: dict[str, Any]) -> Path:
        return self.hub.find(step["find"])

    def load(self, step: dict[str, Any]) -> Path:
        path = self.hub.find(step["load"])
        causerie.ModelRunner.load(path)
        return path

    def fetch(self, step: dict[str, Any]) -> Path:
        plan = self.hub.plan(step["fetch"])
        if self.restarts:
            plan = DownloadPlan.from_json(plan.to_json())
        missing = self.hub.missing_files(plan)
        for key, value in [
            ("size", plan.size),
            ("missing", self.hub.missing_bytes(plan)),
            ("files", [file.path for file in missing]),
        ]:
            assert key not in step or step[key] == value
        for file in missing:
            received = self.folder / "received"
            with urllib.request.urlopen(file.url) as answer:
                received.write_bytes(answer.read())
            assert self.hub.install(plan, received) == file.path
        return self.hub.finish(plan)


def test_the_last_progress_is_ready(fake: FakeHub, tmp_path: Path) -> None:
    reported: list[PullProgress] = []
    hub(fake, tmp_path).pull("ns/demo:Q4_0", progress=reported.append)
    assert (reported[-1].state, reported[-1].done) == (PullState.READY, 150_000)


def test_what_the_report_raises_ends_the_download(fake: FakeHub, tmp_path: Path) -> None:
    fake.tell(json.dumps({"fault": {"matches": "store GET", "times": 9, "stall": 1000}}))

    def report(progress: PullProgress) -> None:
        raise LookupError(progress.file)

    with pytest.raises(LookupError):
        hub(fake, tmp_path).pull("ns/demo:Q4_0", progress=report)


def test_a_task_that_is_cancelled_ends_its_download(fake: FakeHub, tmp_path: Path) -> None:
    fake.tell(json.dumps({"fault": {"matches": "store GET", "times": 1, "stall": 100_000}}))

    async def run() -> Path:
        arrived = asyncio.Event()

        def report(progress: PullProgress) -> None:
            if progress.done == 100_000:
                arrived.set()

        downloading = asyncio.create_task(hub(fake, tmp_path).pull_async("ns/demo:Q4_0", progress=report))
        await arrived.wait()
        downloading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await downloading
        return await hub(fake, tmp_path).pull_async("ns/demo:Q4_0")

    assert asyncio.run(run()).name == "demo-Q4_0.gguf"


def test_the_environment_names_hub_and_cache(
    fake: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_ENDPOINT": fake.url, "HF_HUB_OFFLINE": "0"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SdkError.ModelNotFound, match=r"`causerie pull ns/demo:Q4_0`, or a call of pull with this name"):
        causerie.ModelRunner.load("ns/demo:Q4_0")
    path = causerie.pull("ns/demo:Q4_0")
    assert path.is_relative_to(tmp_path)
    # It is found by its name now, and is not a model.
    with pytest.raises(SdkError.ModelLoad):
        causerie.ModelRunner.load("ns/demo:Q4_0")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert causerie.pull("ns/demo:Q4_0") == path
    with pytest.raises(SdkError.Download) as raised:
        causerie.pull("ns/demo:Q8_0")
    assert (raised.value.fault, raised.value.is_retryable) == ("offline", False)


def test_a_lock_file_is_read(fake: FakeHub, tmp_path: Path) -> None:
    plan = json.loads(hub(fake, tmp_path).plan("ns/demo:Q4_0").to_json())
    lock = {"format": "causerie/lock", "format_version": 1, "models": [plan]}
    (read,) = causerie.plans_from_lock(json.dumps(lock))
    assert (read.name, read.commit, read.license, read.is_gated) == ("ns/demo:Q4_0", "a" * 40, "apache-2.0", False)
    assert hub(fake, tmp_path).fetch(read).name == "demo-Q4_0.gguf"


def test_wrong_options_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SdkError.Download, match="token from the app must be one word"):
        Hub(cache=tmp_path, token="two words")
    with pytest.raises(SdkError.Serialization):
        DownloadPlan.from_json("{}")
