"""`claw help`: concepts explained in short texts."""
