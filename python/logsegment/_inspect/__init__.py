"""One entry as a tree of fields: `inspect`, and its text and HTML."""
