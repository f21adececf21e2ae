"""The type of a file that goes out: by its bytes, then by its suffix."""

from __future__ import annotations

from clawkit.assistant.media.kinds import read_type
from clawkit.assistant.media.names import split_suffix
from clawkit.assistant.media.sniffing import can_be_sniffed, sniff
from clawkit.assistant.media.texts import NotTextError, read_text

_UNKNOWN = "application/octet-stream"
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_IN_ZIP = {
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".odt": f"{_OPEN}.text",
    ".ods": f"{_OPEN}.spreadsheet",
    ".odp": f"{_OPEN}.presentation",
    ".epub": "application/epub+zip",
    ".jar": "application/java-archive",
}
_IN_OLE = {
    ".doc": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".ppt": "application/vnd.ms-powerpoint",
}
_IN_TEXT = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".htm": "text/html",
    ".html": "text/html",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".css": "text/css",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".json": "application/json",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".svg": "image/svg+xml",
    ".ics": "text/calendar",
    ".vcf": "text/vcard",
    ".rtf": "application/rtf",
    ".tex": "application/x-tex",
    ".eml": "message/rfc822",
}
_BINARY = {
    ".ttf": "font/ttf",
    ".otf": "font/otf",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
    ".parquet": "application/vnd.apache.parquet",
}
_REFINED = {
    "application/zip": _IN_ZIP,
    "application/x-ole-storage": _IN_OLE,
    "video/mp4": {".m4a": "audio/mp4", ".m4b": "audio/mp4"},
    "audio/opus": {".ogg": "audio/ogg", ".oga": "audio/ogg"},
    "application/x-compressed-tar": {".gz": "application/gzip"},
}


def type_of(name: str, data: bytes, stated: str = "") -> str:
    """The type of a file; one that is stated counts only where the bytes do not deny it."""
    suffix = split_suffix(name)[1].lower()
    declared = read_type(stated)
    claim = declared.name if declared else ""
    found = sniff(data)
    if found:
        like_it = _REFINED.get(found[0], {})
        if claim in found or claim in like_it.values():
            return claim
        return like_it.get(suffix, found[0])
    if claim and claim != _UNKNOWN and not can_be_sniffed(claim):
        return claim
    try:
        read_text(data)
    except NotTextError:
        return _BINARY.get(suffix, _UNKNOWN)
    return _IN_TEXT.get(suffix, "text/plain")
