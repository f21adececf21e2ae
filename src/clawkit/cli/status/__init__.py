"""`claw status`: how the assistant, its memory and the guard are doing."""
