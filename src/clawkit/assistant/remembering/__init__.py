"""What the assistant remembers beyond one session: a Being here, or one elsewhere."""
