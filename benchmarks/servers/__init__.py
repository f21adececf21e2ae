"""Our servers, written with the public API only."""
