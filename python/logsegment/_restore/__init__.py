"""Tiered storage back to log directories: `restore`."""
