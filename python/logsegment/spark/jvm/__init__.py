"""The columnar reader in Spark's JVM: its jar, and the plans and tasks that it gets from Python."""
