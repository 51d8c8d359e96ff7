"""A model that is being loaded, to be awaited or used in `async with`."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causerie.runner import ModelRunner


class Loading(Coroutine[Any, Any, "ModelRunner"]):
    """What `ModelRunner.load_async` returns: `await` it, or unload the model at the end of an `async with`. It is a coroutine, for
    `asyncio.run` and `asyncio.create_task`."""

    def __init__(self, loading: Coroutine[Any, Any, ModelRunner]) -> None:
        self._loading = loading

    def __await__(self) -> Generator[Any, Any, ModelRunner]:
        return self._loading.__await__()

    async def __aenter__(self) -> ModelRunner:
        self._runner = await self._loading
        return self._runner

    async def __aexit__(
        self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._runner.unload_async()

    def send(self, value: Any) -> Any:
        return self._loading.send(value)

    def throw(self, *error: Any) -> Any:
        return self._loading.throw(*error)

    def close(self) -> None:
        self._loading.close()
