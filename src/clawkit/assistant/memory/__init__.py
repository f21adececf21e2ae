"""The assistant's long-term memory: a Being in this process, or a remote one."""
