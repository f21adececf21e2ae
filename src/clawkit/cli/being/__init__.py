"""`claw being`: Beings made, served, copied; the store access that memory commands share."""
