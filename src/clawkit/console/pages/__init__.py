"""One module a page of the console: its routes, and what of it is watched live."""
