"""`claw memory`: what a Being remembers."""
