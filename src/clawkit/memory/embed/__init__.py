"""Texts as vectors: with weights that come in a package, or asked of a server."""
