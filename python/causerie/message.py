"""Messages of a conversation."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, TypeAlias, Union

from causerie import causerie_ffi as ffi
from causerie._border import adopted, variant
from causerie._images import image_file
from causerie._json import loads
from causerie._sounds import sound_file
from causerie.error import SdkError
from causerie.function import RejectedCall, SdkFunction, SdkFunctionCall, json_text


@adopted
class ChatMessageRole(str, Enum):
    """The role of a message. The plain strings, such as `"user"`, are accepted in its place."""

    SYSTEM = "system"
    """Instructions for the conversation; the first message or absent."""
    USER = "user"
    """The user."""
    ASSISTANT = "assistant"
    """The model."""
    TOOL = "tool"
    """The result of a function call."""


class ChatMessageContent(ffi.ChatMessageContent):
    """One part of a message: `Text`, `Image` or `Audio`, which are also members of this class: `ChatMessageContent.Text("Hello!")`."""

    Text: ClassVar[type[_Text]]
    Image: ClassVar[type[_Image]]
    Audio: ClassVar[type[_Audio]]

    def __init__(self, *_: object) -> None:
        raise TypeError("a part of a message is a Text, an Image or an Audio")


@variant(ffi.ChatMessageContent, "TEXT")
@dataclass
class Text(ChatMessageContent):
    """Text."""

    text: str


@variant(ffi.ChatMessageContent, "IMAGE")
@dataclass
class Image(ChatMessageContent):
    """An image: `Image("photo.jpg")`. It may be given as the path of a file, or as what `ImageSource` names."""

    data: bytes
    """The bytes of a JPEG, PNG, WebP or GIF file. None are a placeholder, which only shows in prompts."""

    def __init__(self, data: ImageSource) -> None:
        """Raises `OSError` for a file that cannot be read, and `SdkError.UnsupportedContent` for pixels of another type or
        shape. A file is decoded with the message it is sent in."""
        self.data = image_file(data)

    def __repr__(self) -> str:
        return f"Image(<{len(self.data)} bytes>)"


@variant(ffi.ChatMessageContent, "AUDIO")
@dataclass
class Audio(ChatMessageContent):
    """Sound: `Audio("question.wav")`, or `Audio(samples, 48_000)` for samples of one channel and their number per second."""

    data: bytes
    """The bytes of a WAV, FLAC, MP3 or Ogg Opus file. None are a placeholder, which does not show in prompts."""

    def __init__(self, data: AudioSource, sample_rate: int | None = None) -> None:
        """Samples become a WAV file with 16 bits for each sample.

        Raises `OSError` for a file that cannot be read, and `SdkError.UnsupportedContent` for samples that are not floats of one
        channel, or are NaN or infinite, and for rates that no sound has. A file is decoded with the message it is sent in.
        """
        self.data = sound_file(data, sample_rate)

    def __repr__(self) -> str:
        return f"Audio(<{len(self.data)} bytes>)"


ImageSource: TypeAlias = Union[str, os.PathLike[str], bytes, bytearray, memoryview, Any]
"""An image file as a path or as bytes, an image of PIL, or an array of pixels, such as one of numpy.

Pixels are of type uint8 and of the shape `(height, width)` or `(height, width, n)`, where `n` is 1 for grey, 2 for grey and
alpha, 3 for RGB and 4 for RGBA.
"""

AudioSource: TypeAlias = Union[str, os.PathLike[str], bytes, bytearray, memoryview, Sequence[float], Any]
"""A sound file as a path or as bytes; or, with a rate, samples of one channel, usually between -1 and 1: an array of floats, such as
one of numpy, another buffer of floats, or a sequence of numbers.
"""

ChatMessageContent.Text, ChatMessageContent.Image, ChatMessageContent.Audio = Text, Image, Audio
_Text: TypeAlias = Text
_Image: TypeAlias = Image
_Audio: TypeAlias = Audio

Part: TypeAlias = Union[Text, Image, Audio]
PartLike: TypeAlias = Union[ChatMessageContent, Mapping[str, Any], str]
"""A part of a message, a part in the form of chat completions, or text."""


@adopted
@dataclass
class ChatMessage:
    """One message of a conversation: `ChatMessage("user", "Hello!")`."""

    role: ChatMessageRole
    content: list[Part]
    """The parts, in order. A string is accepted as a text part, a dict as a part in the form of chat completions, and one part
    without a list. Empty for a reply of only calls."""
    reasoning_content: str | None = None
    """The model's reasoning."""
    function_calls: list[SdkFunctionCall] | None = None
    """In an assistant message, its calls in order."""
    rejected_calls: list[RejectedCall] = field(default_factory=list)
    """In an assistant message, calls that could not be delivered."""
    functions: list[SdkFunction] = field(default_factory=list)
    """In the system message, the registered functions, so that a history includes its functions."""
    incomplete: bool = False
    """Whether the reply was cut short by a cancellation."""
    tool_call_id: str | None = None
    """In a tool message, the id of the call that it answers."""
    name: str | None = None
    """The name of the author, or of the called function."""
    extra: str = "{}"
    """Unknown fields of an imported message, as JSON text of an object. They are exported again."""

    def __init__(
        self,
        role: ChatMessageRole | str,
        content: PartLike | Iterable[PartLike] = (),
        reasoning_content: str | None = None,
        function_calls: list[SdkFunctionCall] | None = None,
        rejected_calls: Iterable[RejectedCall] = (),
        functions: Iterable[SdkFunction] = (),
        incomplete: bool = False,
        tool_call_id: str | None = None,
        name: str | None = None,
        extra: str = "{}",
    ) -> None:
        try:
            self.role = ChatMessageRole(role)
        except ValueError:
            roles = ", ".join(repr(known.value) for known in ChatMessageRole)
            raise SdkError.InvalidMessage(f"role must be one of {roles}, found {role!r}") from None
        self.content = as_parts(content)
        self.reasoning_content = reasoning_content
        self.function_calls = function_calls
        self.rejected_calls = list(rejected_calls)
        self.functions = list(functions)
        self.incomplete = incomplete
        self.tool_call_id = tool_call_id
        self.name = name
        self.extra = extra

    @property
    def text(self) -> str:
        """The text of all parts, joined."""
        return "".join(part.text for part in self.content if isinstance(part, Text))

    def to_dict(self) -> dict[str, Any]:
        """Returns the message in the form of chat completions."""
        message: dict[str, Any] = loads(messages_to_json([self]))[0]
        return message

    @classmethod
    def from_dict(cls, message: Mapping[str, Any]) -> ChatMessage:
        """Parses a chat-completions message. Raises `SdkError.Serialization` or `SdkError.InvalidMessage`."""
        # Other unknown keys are kept for the export, and replies may have no content.
        for key in ["role"] if message.get("role") == "assistant" else ["role", "content"]:
            if key not in message and (near := difflib.get_close_matches(key, map(str, message), 1, 0.85)):
                raise SdkError.InvalidMessage(f"message has the unknown key {near[0]}; did you mean {key}?")
        return messages_from_json(json_text([dict(message)]))[0]


MessageLike: TypeAlias = Union[ChatMessage, Mapping[str, Any], str, ChatMessageContent, Sequence[PartLike]]
"""A message, a message in the form of chat completions, or the text, a part or the parts of a user message."""


def messages_to_json(messages: Iterable[ChatMessage]) -> str:
    """Returns a history as JSON text: an array of chat-completions messages."""
    return ffi.messages_to_json(list(messages))


def messages_from_json(text: str) -> list[ChatMessage]:
    """Parses a history from JSON text: an array of chat-completions messages. Raises `SdkError.Serialization`."""
    return ffi.messages_from_json(text)


def as_parts(content: PartLike | Iterable[PartLike]) -> list[Part]:
    parts = [content] if isinstance(content, (str, Mapping, ChatMessageContent)) else content
    return [_as_part(part) for part in parts]


def _as_part(part: PartLike) -> Part:
    if isinstance(part, (Text, Image, Audio)):
        return part
    if isinstance(part, str):
        return Text(part)
    if isinstance(part, Mapping):
        return messages_from_json(json_text([{"role": "user", "content": [dict(part)]}]))[0].content[0]
    raise TypeError(f"a part of a message must be Text, Image, Audio, a string or a dict, found {type(part).__name__}")


def as_image(image: Image | ImageSource) -> Image:
    return image if isinstance(image, Image) else Image(image)


def as_message(message: MessageLike) -> ChatMessage:
    if isinstance(message, ChatMessage):
        return message
    if isinstance(message, Mapping):
        return ChatMessage.from_dict(message)
    if isinstance(message, (str, ChatMessageContent, list, tuple)):
        return ChatMessage(ChatMessageRole.USER, message)
    raise TypeError(f"a message must be a ChatMessage, a dict, a string or parts, found {type(message).__name__}")


def as_messages(messages: Iterable[MessageLike]) -> list[ChatMessage]:
    if isinstance(messages, (str, Mapping)):
        raise TypeError(f"messages must be a list of messages, found one {type(messages).__name__}")
    return [as_message(message) for message in messages]
