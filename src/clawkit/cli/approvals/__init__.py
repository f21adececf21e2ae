"""`claw approvals`: the calls that wait for a person."""
