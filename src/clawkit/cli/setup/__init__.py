"""`claw setup`: the first configuration."""
