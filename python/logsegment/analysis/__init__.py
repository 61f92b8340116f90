"""Questions about whole logs: search, diff, statistics, redaction, savings of a proposed format, dictionaries."""
