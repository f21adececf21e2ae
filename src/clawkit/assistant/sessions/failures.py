"""What went wrong with the store of sessions, in words."""

from __future__ import annotations

from functools import partial

from clawkit.memory.store import failures
from clawkit.memory.store.failures import is_busy as is_busy
from clawkit.memory.store.failures import is_damage as is_damage

_THING = "the store of sessions"

explained = partial(failures.explained, thing=_THING)
explained_os = partial(failures.explained_os, thing=_THING)
foreign = partial(failures.foreign, thing="a store of sessions")
too_new = partial(failures.too_new, thing=_THING)
