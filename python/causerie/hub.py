"""Downloads of models by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Union

from causerie import _waiting
from causerie import causerie_ffi as ffi
from causerie._border import adopted, uncopyable, variant
from causerie._numbers import Duration, milliseconds
from causerie._option_checks import checked, suggests_options
from causerie._waiting import wait


@adopted
class PullState(str, Enum):
    """What a download is doing."""

    RESOLVING = "resolving"
    """The hub is asked which files the name means."""
    WAITING = "waiting"
    """Another process downloads the same file, or the server has to be asked again later."""
    DOWNLOADING = "downloading"
    """Bytes arrive."""
    VERIFYING = "verifying"
    """The content of a file is checked."""
    READY = "ready"
    """The model can be loaded."""


@adopted
@dataclass(frozen=True)
class PullProgress:
    """The progress of a download, in bytes. Numbers never go backwards, except for the speed."""

    state: PullState
    file: str
    """The file that it is about; empty while the name is resolved."""
    done: int
    """Bytes already downloaded, of all files."""
    total: int
    """Bytes of all files; 0 until it is known."""
    resumed_from: int
    """The bytes that were there already when the download began."""
    bytes_per_second: int
    """The speed during the last seconds."""


@adopted
@dataclass(frozen=True)
class PlannedFile:
    """A file of a plan that the app fetches."""

    url: str
    """The address, whose answer redirects to the place where the file is stored."""
    path: str
    """The path in the repository."""
    size: int
    digest: str
    """The digest of the content: 64 hexadecimal digits of SHA-256, or the 40 of git's id."""


@adopted
@dataclass(frozen=True)
class CachedModel:
    """A model in the cache."""

    name: str
    """A name that loads this model."""
    commit: str
    """The commit that its files are of."""
    size: int
    path: str
    """The file or folder to load."""


@variant(ffi.PullEvent, "PROGRESS")
@dataclass(frozen=True)
class Progress:
    """A download goes on."""

    progress: PullProgress


@variant(ffi.PullEvent, "READY")
@dataclass(frozen=True)
class Ready:
    """A download has ended: the model is complete."""

    path: str


PullEvent = Union[Progress, Ready]


@uncopyable("pass its JSON, and read it there")
class DownloadPlan:
    """The files of one model at one commit, with their digests. As JSON it survives a restart of the app."""

    _ffi: ffi.DownloadPlan

    def __init__(self, *_: object) -> None:
        raise TypeError("a DownloadPlan is made by Hub.plan(name) or DownloadPlan.from_json(json)")

    @classmethod
    def _new(cls, plan: ffi.DownloadPlan) -> DownloadPlan:
        made = cls.__new__(cls)
        made._ffi = plan
        return made

    def __repr__(self) -> str:
        return f"<DownloadPlan of {self.name} at {self.commit}, {self.size} bytes>"

    @classmethod
    def from_json(cls, json: str) -> DownloadPlan:
        """Reads a plan from JSON. Raises `SdkError.Serialization`."""
        return cls._new(ffi.DownloadPlan.from_json(json))

    def to_json(self) -> str:
        """Returns the plan as JSON."""
        return self._ffi.to_json()

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._ffi.name()

    @property
    def commit(self) -> str:
        """The commit, by which all files are fetched."""
        return self._ffi.commit()

    @property
    def license(self) -> str | None:
        """The licence that the repository states."""
        return self._ffi.license()

    @property
    def is_gated(self) -> bool:
        """Whether an account must accept the repository's conditions first."""
        return self._ffi.is_gated()

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return self._ffi.size()


@uncopyable("create a new one with the same options")
@suggests_options
class Hub:
    """Downloads models by name into the cache that Hugging Face's tools share, and lists what it holds.

    Options that are left out come from the environment: `HF_HUB_CACHE` and the like, `HF_ENDPOINT`, `HF_TOKEN`,
    `HF_HUB_OFFLINE`. `idle_timeout` is how long a transfer may be without a byte, and `retry_pause` how long a failed
    request waits before it is tried again: seconds, or a `timedelta`. Without `uses_links`, which `HF_HUB_DISABLE_SYMLINKS` switches off, the files
    of a model stand in its folder themselves.
    """

    def __init__(
        self,
        *,
        cache: str | os.PathLike[str] | None = None,
        endpoint: str | None = None,
        token: str | None = None,
        is_offline: bool | None = None,
        checks_space: bool | None = None,
        idle_timeout: Duration | None = None,
        retry_pause: Duration | None = None,
        uses_links: bool | None = None,
    ) -> None:
        options = ffi.HubOptions(
            cache=None if cache is None else os.fspath(cache),
            endpoint=endpoint,
            token=token,
            is_offline=is_offline,
            checks_space=checks_space,
            idle_timeout_milliseconds=None if idle_timeout is None else checked("idle_timeout", milliseconds, idle_timeout),
            retry_pause_milliseconds=None if retry_pause is None else checked("retry_pause", milliseconds, retry_pause),
            uses_links=uses_links,
        )
        self._ffi = ffi.Hub(options, None)

    def __repr__(self) -> str:
        return f"<Hub with the cache {self.cache}>"

    def pull(self, name: str, *, progress: Callable[[PullProgress], object] | None = None) -> Path:
        """Downloads a model, as far as it is missing or has changed; returns the file or folder to load.

        `progress` is called at most ten times a second. Returning `False`, an exception in it and Ctrl-C end the download;
        what has arrived is kept, and the next call goes on from there. If the hub cannot be reached and the cache has the
        model, it is that one.

        Raises `SdkError.ModelNotFound` with what there is instead, and `SdkError.Download`.
        """
        return _read(self._ffi.start_pull(name), progress)

    async def pull_async(self, name: str, *, progress: Callable[[PullProgress], object] | None = None) -> Path:
        """Like `pull`, without blocking the event loop. Cancelling the task ends the download."""
        return await _read_async(self._ffi.start_pull(name), progress)

    def fetch(self, plan: DownloadPlan, *, progress: Callable[[PullProgress], object] | None = None) -> Path:
        """Downloads the files of a plan. See `pull`."""
        return _read(self._ffi.start_fetch(plan._ffi), progress)

    async def fetch_async(self, plan: DownloadPlan, *, progress: Callable[[PullProgress], object] | None = None) -> Path:
        """Like `fetch`, without blocking the event loop."""
        return await _read_async(self._ffi.start_fetch(plan._ffi), progress)

    def find(self, name: str) -> Path:
        """Returns the file or folder of a downloaded model, without a request. Raises `SdkError.ModelNotFound`."""
        return Path(self._ffi.find(name))

    def plan(self, name: str) -> DownloadPlan:
        """Asks the hub which files a name means now, and what they are. Downloads no model. See `pull` for errors."""
        return DownloadPlan._new(wait(self._ffi.plan(name)))

    def missing_bytes(self, plan: DownloadPlan) -> int:
        """Returns the number of bytes of a plan that are not there."""
        return self._ffi.missing_bytes(plan._ffi)

    def missing_files(self, plan: DownloadPlan) -> list[PlannedFile]:
        """Returns the files of a plan that are not there, for an app that fetches them itself."""
        return self._ffi.missing_files(plan._ffi)

    def install(self, plan: DownloadPlan, file: str | os.PathLike[str]) -> str:
        """Checks a file that the app has fetched, and moves it to its place; returns its path in the repository.

        Raises `SdkError.Download` if it is none of the plan.
        """
        return wait(self._ffi.install(plan._ffi, os.fspath(file)))

    def finish(self, plan: DownloadPlan) -> Path:
        """Makes a model visible whose files are all installed; returns the file or folder to load."""
        return Path(self._ffi.finish(plan._ffi))

    def models(self) -> list[CachedModel]:
        """Returns all downloaded models, including downloads of other tools."""
        return self._ffi.models()

    def remove(self, name: str) -> int:
        """Removes a model; without tag and revision, everything of its repository. Returns the bytes that this frees."""
        return self._ffi.remove(name)

    @property
    def cache(self) -> Path:
        """The folder that models are downloaded into."""
        return Path(self._ffi.cache())


def pull(name: str, *, progress: Callable[[PullProgress], object] | None = None) -> Path:
    """Downloads a model by its name; returns the file or folder to load:

        path = causerie.pull("LiquidAI/LFM2-350M-GGUF:Q4_K_M", progress=print)

    See `Hub.pull`.
    """
    return Hub().pull(name, progress=progress)


def plans_from_lock(json: str) -> list[DownloadPlan]:
    """Reads the plans of a lock file, as `causerie pull --lock` writes it. Raises `SdkError.Serialization`."""
    return [DownloadPlan._new(plan) for plan in ffi.plans_from_lock(json)]


def _read(stream: ffi.DownloadStream, report: Callable[[PullProgress], object] | None) -> Path:
    try:
        while isinstance(event := _waiting.pull(stream), Progress):
            _pass_on(event.progress, stream, report)
        return Path(event.path)
    finally:
        stream.cancel()


async def _read_async(stream: ffi.DownloadStream, report: Callable[[PullProgress], object] | None) -> Path:
    try:
        while isinstance(event := await stream.next(), Progress):
            _pass_on(event.progress, stream, report)
        return Path(event.path)
    finally:
        stream.cancel()


def _pass_on(progress: PullProgress, stream: ffi.DownloadStream, report: Callable[[PullProgress], object] | None) -> None:
    if report is not None and report(progress) is False:
        stream.cancel()
