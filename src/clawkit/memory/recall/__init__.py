"""Finding what is worth remembering now: signals, their fusion, and a gate before noise."""
