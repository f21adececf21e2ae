"""The Claude CLI from Python: its options, its control protocol, and a client that drives it."""
