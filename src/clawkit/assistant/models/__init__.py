"""Models: what one is (`protocol`), the three that come along, and how one is chosen."""
