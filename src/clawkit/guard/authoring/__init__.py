"""The tools behind `claw policy`: init, lint, test, explain, learn and replay."""
