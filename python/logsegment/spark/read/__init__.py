"""The batch reader: a query becomes tasks, and a task becomes rows."""
