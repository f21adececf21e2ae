"""The console: a local web page that shows what agents did, remember and ask for."""
