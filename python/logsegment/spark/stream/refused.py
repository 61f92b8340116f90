"""A stream whose options are wrong: the user's mistake is shown, and not what PySpark makes of it."""

from __future__ import annotations

from typing import Any, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader


class RefusedStreamReader(DataSourceStreamReader):
    """Fails with an error when it is asked for anything.

    Of an error in `DataSource.streamReader` itself PySpark shows its own next one, an UnboundLocalError of a reader that it wants to stop.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error

    def initialOffset(self) -> NoReturn:
        """Fail."""
        raise self.error

    def latestOffset(self, start: Any = None, limit: Any = None) -> NoReturn:
        """Fail."""
        raise self.error

    def partitions(self, start: Any, end: Any) -> NoReturn:
        """Fail."""
        raise self.error

    def read(self, partition: Any) -> NoReturn:
        """Fail."""
        raise self.error

    def stop(self) -> None:
        """There is nothing to stop."""
