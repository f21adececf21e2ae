"""The readings of a URL: whose host it names, under every way that parsers differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clawkit.guard.policy.paths import normal

_SCHEME = re.compile(r"\s*([A-Za-z*][A-Za-z0-9+.\-*\t\r\n]{0,40}):")
_CONTROLS = re.compile(r"[\t\r\n]")
_DEFAULT_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_WEB = frozenset(_DEFAULT_PORTS)
_DOTS = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})
_DIGITS = re.compile(r"(0x)?[0-9a-f]{0,12}")
_AUTHORITY_ENDS = re.compile(r"[/?#\\]")
_STRICT = re.compile(
    r"(?:[A-Za-z0-9._~!$&'()*+,;=:%-]*@)?"
    r"(?P<host>[\w-]+(?:\.[\w-]+)*\.?|\[[0-9A-Fa-f:.]+\])(?P<port>:[0-9]*)?"
)
PUBLIC = "{public}"
"""As the host of a pattern that allows: any that is not local."""
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z](?:[a-z0-9-]*[a-z0-9])")
_LOCAL_DOMAINS = (
    # Names in public domains that lead into somebody's own network.
    ".ts.net",
    # Public names that lead to whatever address they spell, or to this machine.
    *(".nip.io", ".sslip.io", ".xip.io", ".localtest.me", ".lvh.me", ".vcap.me", ".traefik.me"),
    *(".lacolhost.com", ".local.gd", ".localho.st", ".localh.st", ".rbndr.us", ".1u.ms", ".fuf.me"),
    ".beefy.me",
)
# Many more spell an address in their labels: `127-0-0-1.x.com`, `10.0.0.1.x.com`.
_SPELLS_ADDRESS = re.compile(r"(?:\A|.*[.-])(?:\d{1,3}[.-]){3}\d{1,3}(?:[.-].*)")
END = "\0"
"""Marks the end of the host, in what allow compares: no star can move it."""
_ADDRESS = re.compile(r"\[?[0-9a-fx:.]{3,50}(?:%[\w.-]{1,20})?\]?(?::[0-9]{1,5})?", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"([^/]*//)\[([^\]/]*)\](.*)", re.DOTALL)
_SHORTEST_ADDRESS = 3
_SHORTEST_NUMBER = 8  # digits: a smaller number alone is hardly meant as an address
# The first bytes of IPv6 addresses that end in an IPv4 address: compatible ones, and NAT64.
_CARRIERS = (bytes(12), bytes.fromhex("0064ff9b") + bytes(8))
_MAPPED = re.compile(r"\[::ffff:([^:]+)\]", re.IGNORECASE)


def scheme(text: str) -> str:
    """The lower-case scheme that a text begins with; "" for none and for a drive letter."""
    found = _SCHEME.match(text)
    if found is None:
        return ""
    name = _CONTROLS.sub("", found[1]).lower()
    return name if len(name) > 1 else ""


def url_readings(text: str) -> list[str]:
    """A URL in canonical spelling, once for each way to tell its host from the rest."""
    whole = _CONTROLS.sub("", text).strip()
    name = scheme(whole)
    rest = whole[len(name) + 1 :]
    if not _has_host(name, rest):
        return [f"{name}:{rest}"]
    slashed = rest.replace("\\", "/")
    found = [_canonical(name, slashed, "/?#"), _canonical(name, rest, "/?#")]
    found.append(_canonical(name, slashed, "/"))
    if name not in _WEB:
        found.extend([f"{name}://{url}" for url in addresses(slashed[2:].rpartition("@")[2])])
    if name not in _WEB and ".." in rest:  # Its host may be no host but a folder.
        found.append(f"{name}://{normal(slashed[2:])}")
    found.extend([other for url in found if "[" in url for other in _other_addresses(url)])
    return list(dict.fromkeys(found))


def _other_addresses(url: str) -> Iterator[str]:
    """A URL with an IPv6 address, with other spellings of it."""
    if found := _IN_BRACKETS.match(url):
        for other in _spellings(found[2]):
            yield f"{found[1]}{other}{found[3]}"


def is_address(text: str) -> bool:
    """Whether a text begins with what may be the address of a machine."""
    head = text[:80].partition("/")[0]
    if head.isdigit() or len(head) < _SHORTEST_ADDRESS:
        return len(head) >= _SHORTEST_NUMBER
    return _ADDRESS.fullmatch(head) is not None


def addresses(text: str) -> list[str]:
    """Other spellings of the address that a text begins with: the usual one, and IPv4 in IPv6."""
    head, slash, rest = text.partition("/")
    host, colon, port = head.rpartition(":")
    if head.startswith("[") or head.count(":") > 1:
        inside, _, behind = head.removeprefix("[").partition("]")
        return [f"{other}{behind}{slash}{rest}" for other in _spellings(inside)]
    host = host if colon else head
    found = _address(host)
    if found == host or ("." not in host and found.startswith("0.")):
        return []
    return [f"{found}{colon}{port}{slash}{rest}" if colon else f"{found}{slash}{rest}"]


def _spellings(host: str) -> list[str]:
    """An IPv6 address in its shortest form, and the IPv4 address that it leads to."""
    import ipaddress

    try:
        found = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return []
    inner = found.ipv4_mapped or found.sixtofour
    if inner is None and found.packed[:12] in _CARRIERS:
        inner = ipaddress.IPv4Address(found.packed[12:])
    spelled = [f"[{found.compressed}]"]
    return [*spelled, str(inner)] if inner is not None else spelled


def allowed_readings(text: str) -> list[str] | None:
    """For allow: a URL with its host marked off, in each way to read it; None if that is unsure."""
    whole = text.strip()
    name = scheme(whole)
    rest = whole[len(name) + 1 :]
    if not _has_host(name, rest):
        return [f"{name}:{rest}"]
    if name not in _WEB:
        return list(dict.fromkeys(map(_marked, _host_readings(name, rest))))
    if not rest.startswith("//"):
        return None
    found = _AUTHORITY_ENDS.search(rest, 2)
    end = found.start() if found else len(rest)
    strict = _STRICT.fullmatch(rest[2:end])
    if strict is None or rest[end : end + 1] == "\\":
        return None
    host = strict["host"].lower().rstrip(".")
    if not _is_settled(host):
        return None
    port = (strict["port"] or ":")[1:]
    shown = host if port in {"", _DEFAULT_PORTS[name]} else f"{host}:{port}"
    readings = [f"{name}://{shown}{END}{_path(rest[end:])}"]
    if rest[end : end + 1] in {"?", "#"}:  # For some parsers only a slash ends the host.
        readings.append(_marked(_canonical(name, rest, "/")))
    return readings


def _is_settled(host: str) -> bool:
    """Whether no reader would look a host up under another name or address."""
    if host.startswith("["):
        return True
    if not host.isascii():
        import unicodedata

        return unicodedata.normalize("NFKC", host).casefold() == host
    return _address(host) == host


def _host_readings(name: str, rest: str) -> list[str]:
    """Other URLs as they stand, and with each part of their host that may be all of it."""
    found = url_readings(f"{name}:{rest}")
    end = _AUTHORITY_ENDS.search(rest, 2)
    authority = rest[2 : end.start() if end else len(rest)]
    host, colon, port = authority.rpartition("@")[2].partition(":")
    parts = host.split(",") if "," in authority else []
    if colon and not port.isdigit():
        parts.append(host)
    path = rest[end.start() :] if end else ""
    return [*found, *(f"{name}://{part}{path}" for part in parts)]


def allowed_pattern(pattern: str) -> str:
    """A pattern in the spelling of `allowed_readings`."""
    canonical = url_pattern(pattern)
    if canonical.endswith("*") and "/" not in canonical[canonical.index("//") + 2 :]:
        return canonical  # A star that ends it is as long as it can be.
    return _marked(canonical)


def _marked(url: str) -> str:
    slash = url.find("/", url.index("//") + 2)
    return f"{url}{END}" if slash < 0 else f"{url[:slash]}{END}{url[slash:]}"


def with_public_host(reading: str) -> str:
    """A reading of `allowed_readings` with `{public}` for its host, if no local one may be meant.

    That is a name in a domain that everybody may look up, on the usual port; a number is none.
    """
    start = reading.find("//") + 2
    end = reading.find(END)
    host = reading[start:end]
    if end < start or not _DOMAIN.fullmatch(host) or _SPELLS_ADDRESS.fullmatch(host):
        return reading
    if host.rpartition(".")[2] not in _public_domains() or f".{host}".endswith(_LOCAL_DOMAINS):
        return reading
    return f"{reading[:start]}{PUBLIC}{reading[end:]}"


@cache
def _public_domains() -> frozenset[str]:
    """The last labels of public names. Others may be names in somebody's own network (`db.prod`,
    `vault.service`, `kubernetes.default`)."""
    lines = Path(__file__).with_name("public_domains.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if line[:1] != "#" for word in line.split())


def has_host(text: str) -> bool:
    """Whether a text with a scheme is read as one that names a host."""
    whole = _CONTROLS.sub("", text).lstrip()
    name = scheme(whole)
    return _has_host(name, whole[len(name) + 1 :])


def _has_host(name: str, rest: str) -> bool:
    return name in _WEB or rest.startswith("//")


def _canonical(name: str, rest: str, ends: str) -> str:
    rest = rest.lstrip("/\\") if name in _WEB else rest[2:]
    end = min((place for sign in ends if (place := rest.find(sign)) >= 0), default=len(rest))
    host = _host(rest[:end].rpartition("@")[2], name)
    path = _path(rest[end:]) if rest[end:] or name in _WEB else ""
    return f"{name}://{host}{path}"


def url_pattern(pattern: str) -> str:
    """A pattern in the spelling of `url_readings`; its stars stay where they are."""
    name = scheme(pattern)
    if not name or not pattern[len(name) + 1 :].startswith("//"):
        return pattern
    authority, slash, path = pattern[len(name) + 3 :].partition("/")
    if name not in _WEB:
        return f"{name}://{authority}{slash}{path}"
    authority = authority.lower().removesuffix(":" + _DEFAULT_PORTS[name])
    return f"{name}://{authority}{slash or ('' if authority.endswith('*') else '/')}{path}"


def _host(authority: str, name: str) -> str:
    host, colon, port = authority.rpartition(":")
    if not colon or not (port.isdigit() or not port):
        host, port = authority, ""
    if name not in _WEB:
        return authority
    host = host.translate(_DOTS).lower().rstrip(".")
    mapped = _MAPPED.fullmatch(host)
    host = _address(mapped[1] if mapped else host)
    return host if port in {"", _DEFAULT_PORTS.get(name)} else f"{host}:{port}"


def _address(host: str) -> str:
    """An IPv4 address in dotted decimals, however it was written; other hosts as they are."""
    parts = host.split(".")
    if not 1 <= len(parts) <= 4:
        return host
    numbers = [_number(part) for part in parts]
    whole = 0
    for number in numbers[:-1]:
        if number is None or number > 255:
            return host
        whole = whole * 256 + number
    last, room = numbers[-1], 256 ** (5 - len(parts))
    if last is None or last >= room:
        return host
    whole = whole * room + last
    return ".".join(str(whole >> shift & 255) for shift in (24, 16, 8, 0))


def _number(part: str) -> int | None:
    """As `inet_aton` reads it: 0x for hexadecimal, 0 for octal."""
    if not _DIGITS.fullmatch(part):
        return None
    try:
        if part.startswith("0x"):
            return int(part[2:] or "0", 16)
        return int(part, 8 if part.startswith("0") else 10)
    except ValueError:
        return None


def _path(rest: str) -> str:
    end = min((place for sign in "?#" if (place := rest.find(sign)) >= 0), default=len(rest))
    path = rest[:end].replace("\\", "/")
    folder = "/" if path.endswith(("/", "/.", "/..")) else ""
    canonical = normal("/" + path.lstrip("/")) if path else "/"
    return (canonical if canonical == "/" else canonical + folder) + rest[end:]
