"""The attacks, by subject: data in TOML, and the functions that carry them out."""
