"""How well recall finds: public and own sets of questions, and how its weights were made."""
