"""The ways that calls take through the package: how many files, and how many jumps between them."""
