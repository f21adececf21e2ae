"""Which embedder a name stands for: weights that come in a package, or a server's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clawkit.errors import SettingsError
from clawkit.memory.embed.embedder import DEFAULT, shared

if TYPE_CHECKING:
    from clawkit.memory.embed.embedder import Embedder

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODELS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
KNOWN = (DEFAULT, "minilm-int8", *OPENAI_MODELS, "openai:URL#MODEL", "none")


def embedder(name: str = DEFAULT, *, key: str = "") -> Embedder | None:
    """The embedder of that name, ready or getting ready; None for `none`, keywords only."""
    if name == "none":
        return None
    if name == DEFAULT:
        return shared
    if name == "minilm-int8":
        from clawkit.memory.embed.minilm import MiniLM

        return MiniLM()
    if name in OPENAI_MODELS:
        return _remote(name, OPENAI_URL, name, key, OPENAI_MODELS[name])
    if name.startswith("openai:") and "#" in name:
        url, _, model = name.removeprefix("openai:").rpartition("#")
        if url.startswith(("http://", "https://")) and model:
            return _remote(name, url, model, key, 0)
    raise SettingsError(f"no embedder is called {name!r}; there are: {', '.join(KNOWN)}")


def _remote(name: str, url: str, model: str, key: str, dimensions: int) -> Embedder:
    from clawkit.memory.embed.remote import RemoteEmbedder
    from clawkit.system.addresses import check_address

    check_address("embedder", url, secret=bool(key))
    return RemoteEmbedder(name, url=url, model=model, key=key, dimensions=dimensions)
