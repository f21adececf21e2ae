"""Decides by a policy: which calls pass, which are refused, about which a person is asked."""
