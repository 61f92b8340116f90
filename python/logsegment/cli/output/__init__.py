"""Write the output of the command line: text, JSON lines, tables in files, pages."""
