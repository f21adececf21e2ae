"""The tables of a Being, one file each, with the functions that read and write them."""
