"""Logs and their segments in Python's hands: `Log` and `Segment`."""
