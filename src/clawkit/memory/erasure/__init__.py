"""Rights of people: all that a Being has about one person, shown, written down, erased."""
