"""Segments and logs: which bytes of which files hold wanted offsets and times, and the records in them."""
