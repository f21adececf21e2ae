"""Text from anybody: hidden characters, secrets and injected orders in it; words and days."""
