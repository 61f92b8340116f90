"""Options of Spark queries: names and defaults of the Kafka source and sink, and our own."""
