"""Every exception Clawkit raises on purpose.

ClawError
├── ToolExecutionError            a tool failed, or could not run (``ClawError.ToolExecution``)
│   ├── InvalidArgumentsError     its arguments do not fit its schema; names the argument
│   └── ToolTimeoutError          it ran longer than it may
├── SchemaError                   a Python type that cannot be described as JSON Schema
├── LoadError                     a file or an address that `claw serve` was given cannot be used
├── SettingsError                 a setting has a value that cannot be used
├── PolicyError                   the guard's policy cannot be used; names file, line and reason
├── AuditError                    the guard's log cannot be written or read
├── PinError                      the guard's record of tool definitions cannot be used
├── HostError                     a client's config file, or what was done to it, is not as expected
├── MediaError                    an attachment or a file to send cannot be used; names the item
├── StoreError                    sessions or memories cannot be read or written; says where
├── SessionError                  no such session, or a session key that cannot be used
├── BeingError                    a Being, memory, token or bundle that is not there or not usable
│   └── QuotaError                the Being has, or was asked, as much as it may
├── LoginError                    a person, client or login that is not there or not usable
├── ModelError                    a model gave no answer; carries the provider
│   ├── MissingKeyError           no key is set for the provider
│   ├── RefusedKeyError           the provider does not accept the key
│   ├── RateLimitError            too many requests; `retry_after` seconds if the provider says
│   ├── ModelTimeoutError         nothing came for too long
│   ├── NoSuchModelError          the provider, or Clawkit, does not know the model
│   ├── ContextTooLongError       the conversation does not fit into the model
│   ├── RefusedRequestError       the provider finds the request itself at fault
│   └── ProviderDownError         not reachable, failing, or a stream that broke off
├── CliError                      the Claude CLI; carries the last lines of its stderr
│   ├── CliNotFoundError          it is not installed, or not where it should be
│   ├── CliVersionError           it is too old
│   ├── CliEndedError             it ended; carries its exit `code`
│   ├── CliSilentError            it did not answer in time
│   ├── CliGarbageError           it wrote what is no message
│   └── ControlError              it refused a control request
├── AccessError                   an HTTP caller may not do this; carries status and challenge
└── ProtocolError                 becomes a JSON-RPC error; carries `code` and `data`
    ├── ParseError                -32700
    ├── InvalidRequestError       -32600
    ├── MethodNotFoundError       -32601
    ├── InvalidParamsError        -32602
    ├── InternalError             -32603
    ├── DeniedError               -32001, the guard refused
    ├── ResourceNotFoundError     -32002, and -32602 since 2026-07-28
    ├── HeaderMismatchError       -32020
    ├── MissingCapabilityError    -32021
    └── UnsupportedVersionError   -32022
"""

from __future__ import annotations

from typing import Any, ClassVar, Self


class ClawError(Exception):
    """The root of the tree: catch this to catch everything Clawkit raises on purpose."""

    ToolExecution: ClassVar[type[ToolExecutionError]]
    is_usage = False
    """Whether what was given is at fault, whatever is there: a command then ends with status 2."""

    def of_usage(self) -> Self:
        self.is_usage = True
        return self


class ToolExecutionError(ClawError):
    """A tool failed. Its text is what the model reads."""


class InvalidArgumentsError(ToolExecutionError):
    """The arguments of a call do not fit the tool's schema."""

    is_usage = True

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"{argument}: {problem}" if argument else problem)
        self.argument = argument
        self.problem = problem


class ToolTimeoutError(ToolExecutionError):
    """A tool ran longer than its timeout."""


class SchemaError(ClawError, TypeError):
    """A parameter or result type that JSON Schema cannot describe."""


class LoadError(ClawError):
    """A file, module or address could not be used as a server."""


class SettingsError(ClawError):
    """A setting has a value that cannot be used."""


class PolicyError(ClawError):
    """A policy file cannot be used: `line` counts from 1, 0 where no line is to blame."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}" if line else f"{file}: {reason}")
        self.file = file
        self.line = line
        self.reason = reason


class AuditError(ClawError):
    """The audit log cannot be written or read, so nothing may pass."""


class PinError(ClawError):
    """The record of a server's tool definitions cannot be used."""


class HostError(ClawError):
    """A client's config file, or the record of what was done to it, is not as expected."""


class MediaError(ClawError):
    """An attachment, or a file to be sent, cannot be used: `item` names it."""

    def __init__(self, item: str, problem: str) -> None:
        super().__init__(f"{item}: {problem}")
        self.item = item
        self.problem = problem


class StoreError(ClawError):
    """A store of sessions or memories cannot be read or written.

    `reason` says why in a few words, without where it is, for those who are not to know that.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class SessionError(ClawError):
    """There is no such session, or its key cannot be used."""


class BeingError(ClawError):
    """A Being, one of its memories or tokens, or a file of memories cannot be used as asked."""


class QuotaError(BeingError):
    """A Being would hold more than it may, or was called as often as it may be."""


class LoginError(ClawError):
    """A person, a client or a login cannot be used; says which and why."""


class ModelError(ClawError):
    """A model gave no answer. The text says why and what to do; `provider` is whose it is.

    `final`: asking again, or asking another model, would not help; the request is at fault.
    """

    final = False

    def __init__(self, provider: str, message: str) -> None:
        super().__init__(message)
        self.provider = provider


class MissingKeyError(ModelError):
    """No key is set for the provider."""


class RefusedKeyError(ModelError):
    """The provider does not accept the key."""


class RateLimitError(ModelError):
    """Too many requests; `retry_after` is how many seconds the provider asks to wait."""

    def __init__(self, provider: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(provider, message)
        self.retry_after = retry_after


class ModelTimeoutError(ModelError):
    """Nothing came from the provider for too long."""


class NoSuchModelError(ModelError):
    """The model is not known."""


class ContextTooLongError(ModelError):
    """The conversation does not fit into the model."""

    final = True


class RefusedRequestError(ModelError):
    """The provider finds the request itself at fault."""

    final = True


class ProviderDownError(ModelError):
    """The provider cannot be reached, fails, or broke off its answer."""


class CliError(ClawError):
    """Something is wrong with the Claude CLI; `stderr` holds the last lines it wrote there."""

    def __init__(self, message: str, stderr: str = "") -> None:
        super().__init__(f"{message}\n{stderr}" if stderr else message)
        self.stderr = stderr


class CliNotFoundError(CliError):
    """The CLI is not installed, or not where it should be."""


class CliVersionError(CliError):
    """The CLI is too old to be driven."""


class CliEndedError(CliError):
    """The CLI ended while it was needed; `code` is its exit status."""

    def __init__(self, message: str, stderr: str = "", code: int | None = None) -> None:
        super().__init__(message, stderr)
        self.code = code


class CliSilentError(CliError):
    """The CLI did not answer in time."""


class CliGarbageError(CliError):
    """The CLI wrote something that is no message."""


class ControlError(CliError):
    """The CLI refused a control request; `subtype` is which."""

    def __init__(self, subtype: str, message: str) -> None:
        super().__init__(f"{subtype}: {message}")
        self.subtype = subtype


class AccessError(ClawError):
    """An HTTP caller is not allowed: `status` 401 or 403, and the `WWW-Authenticate` challenge."""

    def __init__(self, message: str, *, status: int = 401, challenge: str = "Bearer") -> None:
        super().__init__(message)
        self.status = status
        self.challenge = challenge


class ProtocolError(ClawError):
    """An error that travels as a JSON-RPC error object."""

    code: int = -32603

    def __init__(self, message: str, *, data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data


class ParseError(ProtocolError):
    """The bytes are not JSON."""

    code = -32700


class InvalidRequestError(ProtocolError):
    """The JSON is not a JSON-RPC message that may be sent now."""

    code = -32600


class MethodNotFoundError(ProtocolError):
    """No such method in this revision of the protocol."""

    code = -32601


class InvalidParamsError(ProtocolError):
    """The parameters of the request cannot be used."""

    code = -32602


class InternalError(ProtocolError):
    """The server failed."""

    code = -32603


class DeniedError(ProtocolError):
    """The guard's policy refuses this; the message is for the model to read."""

    code = -32001


class ResourceNotFoundError(ProtocolError):
    """No resource at this URI. The modern era answers -32602 instead of this code."""

    code = -32002


class HeaderMismatchError(ProtocolError):
    """An HTTP header is missing, malformed, or disagrees with the body."""

    code = -32020


class MissingCapabilityError(ProtocolError):
    """The client did not declare a capability that the request needs."""

    code = -32021

    def __init__(self, message: str, required: dict[str, Any]) -> None:
        super().__init__(message, data={"requiredCapabilities": required})


class UnsupportedVersionError(ProtocolError):
    """The request names a protocol revision that this server does not speak."""

    code = -32022


ClawError.ToolExecution = ToolExecutionError


UNREADABLE_JSON = (ValueError, RecursionError)
"""What reading JSON of others raises: a `msgspec.DecodeError`, which is a ValueError as are bytes
that are no UTF-8, or that it is nested too deeply."""
