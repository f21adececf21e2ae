"""The eleven tools of a Being, and `act`."""
