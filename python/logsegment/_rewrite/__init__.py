"""Logs without some of their records: `rewrite`."""
