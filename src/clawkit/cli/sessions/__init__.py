"""`claw sessions`: the assistant's stored conversations."""
