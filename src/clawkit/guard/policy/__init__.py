"""The policy: which calls pass, which are refused, and about which a person is asked."""
