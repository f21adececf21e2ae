"""How well a Being serves made-up lives: what people told it, and what they ask weeks later."""
