"""`claw doctor`: checks this installation and repairs it."""
