"""The audit: one JSON line for whatever passed or was stopped, each chained to the one before."""
