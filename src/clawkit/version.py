"""The version: here only, so that it is known without an installation too."""

__version__ = "0.1.0"
