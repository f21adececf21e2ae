"""What hides in text: characters nobody sees, secrets, and orders meant for the model."""

from __future__ import annotations

from clawkit.guard.scan.elicitation import asks_for_secret, host_of, link_of
from clawkit.guard.scan.logged_arguments import kept_arguments, redact_arguments
from clawkit.guard.scan.sanitizer import Findings, ScanOptions, clean, suspicious
from clawkit.text.injections import find_injections, remove_injections
from clawkit.text.normalization import visible
from clawkit.text.secrets import redact_secrets

__all__ = [
    "Findings",
    "ScanOptions",
    "asks_for_secret",
    "clean",
    "find_injections",
    "host_of",
    "kept_arguments",
    "link_of",
    "redact_arguments",
    "redact_secrets",
    "remove_injections",
    "suspicious",
    "visible",
]
