"""`claw call`: one call of one tool, from a shell."""
