"""`claw policy`: the guard's policy."""
