"""What the operating system gives: locks, private files, processes, addresses, memory."""
