"""Conversations with language models that run on the device: text, reasoning and function calls as one stream.

    import causerie

    with causerie.ModelRunner.load("causerie/demo") as runner:
        conversation = runner.create_conversation()
        for event in conversation.generate_response("Hello!"):
            match event:
                case causerie.Chunk(text):
                    print(text, end="", flush=True)
                case causerie.FunctionCalls(calls):
                    print(calls)
"""

from causerie.choices import (
    CacheType,
    ContextPolicy,
    DefaultFunctionCallParser,
    Device,
    FunctionCallParser,
    FunctionNames,
    JsonStyleFunctionCallParser,
    OnBusy,
    OnCancel,
    Strictness,
    ToolCallConstraint,
    ToolChoice,
)
from causerie.conversation import ContextPlan, Conversation
from causerie.error import SdkError
from causerie.function import (
    Diagnostic,
    RejectedCall,
    SdkArr,
    SdkBool,
    SdkFunction,
    SdkFunctionCall,
    SdkFunctionParameter,
    SdkFunctionParameterType,
    SdkInt,
    SdkNull,
    SdkNum,
    SdkObj,
    SdkStr,
    Severity,
    Validation,
    function_schema,
    functions_from_json,
    functions_to_json,
    validate,
)
from causerie.handlers import FunctionHandlers
from causerie.library import TextPiece, TextStream, Tokenizer, generate, load, stream_generate
from causerie.message import (
    Audio,
    ChatMessage,
    ChatMessageContent,
    ChatMessageRole,
    Image,
    Text,
    messages_from_json,
    messages_to_json,
)
from causerie.options import GenerationOptions, LoadOptions, SamplingDefaults
from causerie.response import (
    AudioSample,
    Chunk,
    Complete,
    FinishReason,
    FunctionCalls,
    FunctionCallsRejected,
    FunctionResult,
    GenerationStats,
    Logprobs,
    MessageResponse,
    PromptReport,
    ReasoningChunk,
    ReplySection,
    Response,
    RoundComplete,
    Sampling,
    ScoredToken,
    TokenLogprob,
)
from causerie.runner import ModelInfo, ModelRunner
from causerie.typed import decode_call, decode_reply, function_from, reply_schema

__version__ = "0.1.0"

__all__ = [
    "Audio",
    "AudioSample",
    "CacheType",
    "ChatMessage",
    "ChatMessageContent",
    "ChatMessageRole",
    "Chunk",
    "Complete",
    "ContextPlan",
    "ContextPolicy",
    "Conversation",
    "DefaultFunctionCallParser",
    "Device",
    "Diagnostic",
    "FinishReason",
    "FunctionCallParser",
    "FunctionCalls",
    "FunctionCallsRejected",
    "FunctionHandlers",
    "FunctionNames",
    "FunctionResult",
    "GenerationOptions",
    "GenerationStats",
    "Image",
    "JsonStyleFunctionCallParser",
    "LoadOptions",
    "Logprobs",
    "MessageResponse",
    "ModelInfo",
    "ModelRunner",
    "OnBusy",
    "OnCancel",
    "PromptReport",
    "ReasoningChunk",
    "RejectedCall",
    "ReplySection",
    "Response",
    "RoundComplete",
    "Sampling",
    "SamplingDefaults",
    "ScoredToken",
    "SdkArr",
    "SdkBool",
    "SdkError",
    "SdkFunction",
    "SdkFunctionCall",
    "SdkFunctionParameter",
    "SdkFunctionParameterType",
    "SdkInt",
    "SdkNull",
    "SdkNum",
    "SdkObj",
    "SdkStr",
    "Severity",
    "Strictness",
    "Text",
    "TextPiece",
    "TextStream",
    "TokenLogprob",
    "Tokenizer",
    "ToolCallConstraint",
    "ToolChoice",
    "Validation",
    "decode_call",
    "decode_reply",
    "function_from",
    "function_schema",
    "functions_from_json",
    "functions_to_json",
    "generate",
    "load",
    "messages_from_json",
    "messages_to_json",
    "reply_schema",
    "stream_generate",
    "validate",
]
