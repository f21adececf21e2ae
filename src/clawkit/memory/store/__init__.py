"""Where Beings are kept: one SQL, two drivers, SQLite and PostgreSQL."""

from clawkit.memory.store.opening import open_store as open_store
