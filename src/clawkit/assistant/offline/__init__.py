"""The embedded default: no key, no network, no language model; it answers from what it was told."""
