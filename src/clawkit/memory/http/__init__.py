"""Beings over HTTP: the documented routes, tokens, limits, logs and figures."""
