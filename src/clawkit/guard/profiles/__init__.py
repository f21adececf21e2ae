"""What known servers may do unasked: a profile each, chosen by the command line alone."""
