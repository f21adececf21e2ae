"""The selftest: known attacks sent through a real guard to a real server that believes anything."""
