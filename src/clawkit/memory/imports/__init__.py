"""Memories that were kept elsewhere: read from files, checked, and given to a Being."""
