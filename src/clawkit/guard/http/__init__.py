"""The guard in front of servers that are reached over HTTP."""
