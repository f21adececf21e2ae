"""`claw chat`: a conversation in the terminal."""
