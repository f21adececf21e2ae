"""Config documents as text with spans: JSONC, JSON5, TOML and YAML, edited in place."""
