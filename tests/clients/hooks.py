"""Limits the length of replies to schemathesis: it tests requests, not the model."""

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    if not isinstance(case.body, dict):
        return
    limits = ["max_tokens", "max_completion_tokens", "max_output_tokens"]
    for name in limits:
        if type(case.body.get(name)) is int and (case.body[name] == -1 or 4 < case.body[name] < 2**31):
            case.body[name] = 4
    if case.operation.path in ("/v1/chat/completions", "/v1/completions") and not set(limits) & set(case.body):
        case.body["max_tokens"] = 4
    if case.operation.path == "/v1/responses" and "max_output_tokens" not in case.body:
        case.body["max_output_tokens"] = 4
