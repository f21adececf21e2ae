"""Policy files: from TOML text to a policy that decides, and again when the file changes."""
