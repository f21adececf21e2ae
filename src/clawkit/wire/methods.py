"""The methods of MCP: one function each, and the table of the eras in which each exists.

Functions without `async` need no event loop: that makes starting cheap.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import (
    InvalidParamsError,
    MethodNotFoundError,
    MissingCapabilityError,
    ResourceNotFoundError,
)
from clawkit.wire.input_requests import NO_ROUNDS, InputRequired, Rounds, digest
from clawkit.wire.jsonrpc import as_object
from clawkit.wire.revisions import LOG_LEVELS, META_SERVER, MODERN, TASKS, negotiate
from clawkit.wire.session import Context, McpRequest, RunningRequest, shows_apps

if TYPE_CHECKING:
    from clawkit.wire.server import ServerCore


def page(items: Mapping[str, Any], cursor: object, size: int) -> tuple[list[Any], str | None]:
    """The items after `cursor`, at most `size`, and the cursor of the next page if there is one."""
    if cursor is None and len(items) <= size:
        return list(items.values()), None
    keys = list(items)
    start = 0 if cursor is None else _position(keys, cursor) + 1
    chosen = keys[start : start + size]
    more = start + size < len(keys)
    return [items[key] for key in chosen], _cursor(chosen[-1]) if more else None


def _cursor(key: str) -> str:
    return urlsafe_b64encode(key.encode()).decode()


def _position(keys: list[str], cursor: object) -> int:
    try:
        if isinstance(cursor, str):
            return keys.index(urlsafe_b64decode(cursor.encode()).decode())
    except (binascii.Error, UnicodeError, ValueError):
        pass
    raise InvalidParamsError("Invalid params: unknown cursor; list again from the start")


class Route(msgspec.Struct, frozen=True):
    """How a method is served."""

    handler: Callable[..., Any]
    awaits: bool = False
    legacy: bool = True
    modern: bool = True
    feature: str | None = None
    cacheable: bool = False


def initialize(server: ServerCore, request: McpRequest) -> dict[str, Any]:
    session = request.session
    version = negotiate(request.params.get("protocolVersion"))
    capabilities = _object(request.params, "capabilities")
    client = _object(request.params, "clientInfo")
    if session.remembers:
        session.version, session.capabilities, session.client = version, capabilities, client
    if session.send is not None:
        server.hub.join(session, session.send, server.features())
    result: dict[str, Any] = {
        "protocolVersion": version,
        "capabilities": server.capabilities(
            modern=False,
            notices=session.notices,
            subscribe=session.send is not None,
            apps=shows_apps(capabilities),
        ),
        "serverInfo": server.info,
    }
    if server.instructions:
        result["instructions"] = server.instructions
    return result


def discover(server: ServerCore, request: McpRequest) -> dict[str, Any]:
    reachable = request.send is not None
    result: dict[str, Any] = {
        "supportedVersions": [MODERN],
        "capabilities": server.capabilities(
            modern=True, notices=reachable, subscribe=reachable, apps=request.can_show()
        ),
    }
    if server.instructions:
        result["instructions"] = server.instructions
    return result


def ping(_server: ServerCore, _request: McpRequest) -> dict[str, Any]:
    return {}


def set_level(_server: ServerCore, request: McpRequest) -> dict[str, Any]:
    level = request.params.get("level")
    if level not in LOG_LEVELS:
        raise InvalidParamsError(f"Invalid params: level must be one of {', '.join(LOG_LEVELS)}")
    if request.session.remembers:
        request.session.log_level = level
    return {}


def list_tools(server: ServerCore, request: McpRequest) -> dict[str, Any]:
    found = _listed(server, request, "tools", server.tools_for(request.principal))
    if server.app_of and request.can_show():
        found["tools"] = [_with_app(server, tool) for tool in found["tools"]]
    return found


def _with_app(server: ServerCore, tool: dict[str, Any]) -> dict[str, Any]:
    """A tool's definition with the page for its results, if there is one."""
    uri = server.app_of.get(tool["name"])
    if uri is None:
        return tool
    return {**tool, "_meta": {**tool.get("_meta", {}), "ui": {"resourceUri": uri}}}


def list_resources(server: ServerCore, request: McpRequest) -> dict[str, Any]:
    pages = server.apps if request.can_show() else {}
    return _listed(server, request, "resources", {**server.resources, **pages})


def list_templates(server: ServerCore, request: McpRequest) -> dict[str, Any]:
    return _listed(server, request, "resourceTemplates", server.templates)


def list_prompts(server: ServerCore, request: McpRequest) -> dict[str, Any]:
    return _listed(server, request, "prompts", server.prompts)


def subscribe(_server: ServerCore, request: McpRequest) -> dict[str, Any]:
    if request.session.send is None:
        raise MethodNotFoundError("Method not found: subscriptions need a session")
    request.session.subscribed.add(_string(request.params, "uri"))
    return {}


def unsubscribe(_server: ServerCore, request: McpRequest) -> dict[str, Any]:
    request.session.subscribed.discard(_string(request.params, "uri"))
    return {}


async def call_tool(
    server: ServerCore, request: McpRequest, running: RunningRequest
) -> dict[str, Any]:
    name = _string(request.params, "name")
    tool = server.tools.get(name) or server.tools_for(request.principal).get(name)
    if tool is None:
        raise InvalidParamsError(f"Unknown tool: {name[:100]}")
    arguments = _object(request.params, "arguments")
    context = _context(server, request, running, name, arguments)
    if tool.task == "never":
        return await server.calls.perform(tool, arguments, context)
    if request.can_task():
        return await server.tasks.run(
            request,
            running,
            tool.task_after,
            lambda: server.calls.perform(tool, arguments, context),
            context.attach,
        )
    if tool.task == "required":
        raise MissingCapabilityError(
            f"{name} runs only as a task; the client must declare the tasks extension",
            {"extensions": {TASKS: {}}},
        )
    return await server.calls.perform(tool, arguments, context)


async def read_resource(
    server: ServerCore, request: McpRequest, running: RunningRequest
) -> dict[str, Any]:
    uri = _string(request.params, "uri")
    context = _context(server, request, running, uri, {})
    resource = server.resources.get(uri) or server.apps.get(uri)
    if resource is not None:
        return {"contents": await resource.read(context)}
    for template in server.templates.values():
        variables = template.match(uri)
        if variables is not None:
            return {"contents": await template.read(uri, variables, context)}
    kind = InvalidParamsError if request.modern else ResourceNotFoundError
    raise kind(f"Resource not found: {uri[:200]}", data={"uri": uri})


async def get_prompt(
    server: ServerCore, request: McpRequest, running: RunningRequest
) -> dict[str, Any]:
    name = _string(request.params, "name")
    prompt = server.prompts.get(name)
    if prompt is None:
        raise InvalidParamsError(f"Unknown prompt: {name[:100]}")
    arguments = _strings(request.params, "arguments")
    context = _context(server, request, running, name, arguments)
    return await prompt.render(arguments, context)


async def complete(
    server: ServerCore, request: McpRequest, _running: RunningRequest
) -> dict[str, Any]:
    reference = _object(request.params, "ref")
    argument = _object(request.params, "argument")
    chosen = _strings(_object(request.params, "context"), "arguments")
    kind = reference.get("type")
    if kind not in ("ref/prompt", "ref/resource"):
        raise InvalidParamsError("Invalid params: ref.type must be ref/prompt or ref/resource")
    key = _string(reference, "name" if kind == "ref/prompt" else "uri")
    completer = server.completers.get(key)
    if completer is None:
        if key not in server.prompts and key not in server.templates:
            raise InvalidParamsError(f"Invalid params: nothing called {key[:100]!r} to complete")
        return {"completion": {"values": [], "total": 0, "hasMore": False}}
    values = await completer(_string(argument, "name"), _string(argument, "value"), chosen)
    shown = values[:100]
    return {
        "completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}
    }


async def listen(
    server: ServerCore, request: McpRequest, _running: RunningRequest
) -> dict[str, Any]:
    features = server.features()
    visible = server.tasks.visible if "tasks" in features else None
    return await server.hub.listen(request, features, visible)


def get_task(server: ServerCore, request: McpRequest) -> dict[str, Any]:
    return server.tasks.get(request)


def update_task(server: ServerCore, request: McpRequest) -> dict[str, Any]:
    return server.tasks.update(request)


def cancel_task(server: ServerCore, request: McpRequest) -> dict[str, Any]:
    return server.tasks.cancel(request)


ROUTES: dict[str, Route] = {
    "initialize": Route(initialize, modern=False),
    "ping": Route(ping, modern=False),
    "logging/setLevel": Route(set_level, modern=False),
    "resources/subscribe": Route(subscribe, modern=False, feature="resources"),
    "resources/unsubscribe": Route(unsubscribe, modern=False, feature="resources"),
    "server/discover": Route(discover, legacy=False, cacheable=True),
    "tools/list": Route(list_tools, cacheable=True),
    "tools/call": Route(call_tool, awaits=True),
    "resources/list": Route(list_resources, feature="resources", cacheable=True),
    "resources/templates/list": Route(list_templates, feature="resources", cacheable=True),
    "resources/read": Route(read_resource, awaits=True, feature="resources", cacheable=True),
    "prompts/list": Route(list_prompts, feature="prompts", cacheable=True),
    "prompts/get": Route(get_prompt, awaits=True, feature="prompts"),
    "completion/complete": Route(complete, awaits=True, feature="completions"),
    "subscriptions/listen": Route(listen, awaits=True, legacy=False),
    "tasks/get": Route(get_task, legacy=False, feature="tasks"),
    "tasks/update": Route(update_task, legacy=False, feature="tasks"),
    "tasks/cancel": Route(cancel_task, legacy=False, feature="tasks"),
}


def _context(
    server: ServerCore,
    request: McpRequest,
    running: RunningRequest,
    name: str,
    arguments: dict[str, Any],
) -> Context:
    params = request.params
    request.subject = (name, arguments)
    if ("inputResponses" not in params and "requestState" not in params) or not request.modern:
        return Context(server, request, running, NO_ROUNDS)
    answers = as_object(params.get("inputResponses", {}))
    if answers is None:
        raise InvalidParamsError("Invalid params: inputResponses must be an object")
    earlier = NO_ROUNDS
    if "requestState" in params:
        earlier = server.seal.open(params["requestState"], binding(request))
    merged = {**earlier.answers, **answers}
    return Context(server, request, running, Rounds(earlier.count, earlier.asked, merged))


def binding(request: McpRequest) -> str:
    """A hash of the method, its subject and the principal, to which request state is bound."""
    return digest([request.method, request.subject, request.owner])


def input_required(server: ServerCore, request: McpRequest, stop: InputRequired) -> dict[str, Any]:
    """The result that ends a round: the open questions and the signed state."""
    return {
        "resultType": "input_required",
        "inputRequests": {key: question.to_wire() for key, question in stop.questions.items()},
        "requestState": server.seal.seal(stop.rounds, binding(request)),
        "_meta": {META_SERVER: server.info},
    }


def _listed(
    server: ServerCore, request: McpRequest, field: str, items: dict[str, Any]
) -> dict[str, Any]:
    chosen, following = page(items, request.params.get("cursor"), server.page_size)
    result: dict[str, Any] = {field: [item.definition for item in chosen]}
    if following is not None:
        result["nextCursor"] = following
    return result


def _string(params: dict[str, Any], field: str) -> str:
    value = params.get(field)
    if type(value) is not str:
        raise InvalidParamsError(f"Invalid params: {field} must be a string")
    return value


def _object(params: dict[str, Any], field: str) -> dict[str, Any]:
    value = as_object(params.get(field) or {})
    if value is None:
        raise InvalidParamsError(f"Invalid params: {field} must be an object")
    return value


def _strings(params: dict[str, Any], field: str) -> dict[str, str]:
    values = _object(params, field)
    for key, value in values.items():
        if type(value) is not str:
            raise InvalidParamsError(f"Invalid params: {field}.{key[:60]} must be a string")
    return values
