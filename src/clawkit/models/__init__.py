"""The one client of language models and embedding servers: protocol, HTTP, providers, retries."""
