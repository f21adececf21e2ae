"""Logging in to servers of others: how they want it, the tokens they give, where these are kept."""
