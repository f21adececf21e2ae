"""The attacks, by subject. Importing a file registers what is in it."""
