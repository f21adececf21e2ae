"""Media: attachments that come with a message, and files that go out with an answer."""
