"""Patrol: what was noted becomes memory, and memory is kept in order; nothing is destroyed."""
