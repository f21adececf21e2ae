"""Sessions: what was said under each key, kept in SQLite for many processes at once."""
