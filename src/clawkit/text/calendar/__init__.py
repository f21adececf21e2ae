"""Days and dates, as people write them."""
