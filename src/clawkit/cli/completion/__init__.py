"""`claw completion`: the shells' scripts, and what these ask at every Tab."""
