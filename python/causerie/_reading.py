"""Replies that are read as something other than their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from causerie._border import uncopyable
from causerie.response import MessageResponse, Response, ResponseIterator

if TYPE_CHECKING:
    from typing_extensions import Self

Item = TypeVar("Item")
Read = Callable[[MessageResponse], "tuple[Item] | None"]
"""Returns the item that an event gives, if it gives one."""


class ReadOnce(Generic[Item]):
    """What a reply is read as. Like a `Response`, it can be read once, with `for` or `async for`."""

    _response: Response

    def __init__(self, *_: object) -> None:
        raise TypeError(f"a {type(self).__name__} is made by generate_response() of a Conversation")

    @classmethod
    def _new(cls, response: Response) -> Self:
        made = cls.__new__(cls)
        made._response = response
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._response!r}>"

    def cancel(self) -> None:
        """Stops the reply within one token."""
        self._response.cancel()

    def _read(self) -> Read[Item]:
        """Returns what reads the events of the reply, in order."""
        raise NotImplementedError

    def __iter__(self) -> Items[Item]:
        return Items(self._response, self._read())

    def __aiter__(self) -> Items[Item]:
        return Items(self._response, self._read())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *end: object) -> None:
        self._response._leave()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *end: object) -> None:
        self._response._leave()


@uncopyable("read it once, and keep its items")
class Items(Generic[Item]):
    """Reads a reply. Stops it when it is garbage-collected."""

    def __init__(self, response: Response, read: Read[Item]) -> None:
        self._events = ResponseIterator(response)
        self._read = read

    def __iter__(self) -> Items[Item]:
        return self

    def __aiter__(self) -> Items[Item]:
        return self

    def __next__(self) -> Item:
        for event in self._events:
            if item := self._read(event):
                return item[0]
        raise StopIteration

    async def __anext__(self) -> Item:
        async for event in self._events:
            if item := self._read(event):
                return item[0]
        raise StopAsyncIteration
