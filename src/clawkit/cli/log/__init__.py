"""`claw log`: the guard's audit log."""
