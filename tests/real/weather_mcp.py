"""An MCP server on standard input and output, with one function: what Codex declares as a namespace."""

import json
import sys

TOOL = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def answer(request):
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "weather", "version": "1"}}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "Rain, 7 degrees."}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}), flush=True)
