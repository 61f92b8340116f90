"""Questions about whole logs: search, diff, statistics, redaction, savings of v3, dictionaries."""
