"""Search over memories: the question read once, signals, weights, and a gate before noise."""
