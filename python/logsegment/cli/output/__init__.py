"""What the command line writes: text, JSON lines, tables in files, pages."""
