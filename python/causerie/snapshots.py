"""Values of a reply while it is being written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from causerie._border import uncopyable
from causerie._partial_json import PartialJson
from causerie._partial_types import partial_value
from causerie._reading import Read, ReadOnce
from causerie.error import SdkError
from causerie.response import Chunk, Complete, FinishReason, MessageResponse, Response, RoundComplete
from causerie.typed import decode_reply

T = TypeVar("T")
_NOTHING: Any = object()


@uncopyable("read it once, and keep its values")
class Snapshots(ReadOnce[T]):
    """The value that a reply is, again and again while it is being written. `generate_response` with `as_type` makes it.

        for recipe in conversation.generate_response("A recipe for soup", as_type=Recipe):
            print(recipe.title, recipe.steps)

    Each value is an object of the type in which what is not written yet is `None`: members, and values that cannot be told from
    their beginning, such as numbers and choices. Strings and lists grow. These values are not validated. The last value is complete
    and validated; for a reply that is not of the type, such as one that was cut short, `SdkError.InvalidArgument` is
    raised instead. After `cancel()`, no further value comes.
    """

    _as_type: Callable[..., T]
    _is_cancelled = False

    @classmethod
    def _new_typed(cls, response: Response, as_type: Callable[..., T]) -> Snapshots[T]:
        made = cls._new(response)
        made._as_type = as_type
        return made

    @property
    def completion(self) -> Complete | None:
        """The last event of the reply, once it has been read."""
        return self._response.completion

    def cancel(self) -> None:
        """Stops the reply within one token."""
        self._is_cancelled = True
        super().cancel()

    def _read(self) -> Read[T]:
        written = PartialJson()
        last = _NOTHING

        def read(event: MessageResponse) -> tuple[T] | None:
            nonlocal written, last
            if self._is_cancelled:
                return None
            if isinstance(event, Complete):
                return (value_of_reply(event, self._as_type),)
            if isinstance(event, RoundComplete):
                written, last = PartialJson(), _NOTHING
            if not isinstance(event, Chunk):
                return None
            written.push(event.text)
            try:
                known = written.value()
            except (ValueError, RecursionError):
                return None  # `decode_reply` has the reason
            if known is None or known == last:
                return None
            last = known
            return (partial_value(self._as_type, *known),)

        return read


def value_of_reply(completion: Complete, of: Callable[..., T]) -> T:
    """Returns a whole reply as a value of a type. Raises `SdkError.InvalidArgument`."""
    if completion.finish_reason == FinishReason.TOOL_CALLS:
        raise SdkError.InvalidArgument("the reply called functions that the app must run", "reply")
    value: T = decode_reply(completion.text, of)
    return value
