"""Everything a Being has about one person: found, exported, erased."""
