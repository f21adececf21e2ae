"""From a Python signature to a JSON Schema and a validator, and from a misfit to a sentence.

`signature` is the way in: it reads a function once and then binds the arguments of every call.
`annotations` walks over types; each of the others owns one thing that it meets on the way.
"""
