"""Text whoever wrote it: what hides in it, the secrets and the orders to a model that it holds."""
