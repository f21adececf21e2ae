"""The assistant: a message in, one answer out, and the reply system between the two."""
