"""Functions of columns over Arrow arrays in every PySpark: an arrow_udf where there is one (4.1), else a pandas_udf with equal results."""

# No `from __future__ import annotations`: PySpark derives the kind of a function from its annotations, which must be types.

import datetime
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from pyspark import TaskContext
from pyspark.sql.functions import col
from pyspark.sql.pandas import functions as pandas_functions
from pyspark.sql.types import StructField, StructType

#: Arrow arrays in, one out.
ArrowFunction = Callable[..., Any]
#: PySpark 4.1 and newer.
HAS_ARROW_UDF = hasattr(pandas_functions, "arrow_udf")
_SESSION_ZONE = "spark.sql.session.timeZone"


def column_function(function: ArrowFunction, result_type: Any) -> Callable[..., Any]:
    """Make a function of columns.

    Args:
        function: of Arrow arrays, with annotations; its name is that of the function.
        result_type: the Spark type of the array that it returns.
    """
    if HAS_ARROW_UDF:
        return cast(Callable[..., Any], cast(Any, pandas_functions).arrow_udf(function, result_type))
    if isinstance(result_type, StructType):
        return _struct_function(function, result_type)
    return _plain_function(function, result_type)


def from_series(values: Any) -> Any:
    """Return a `pandas.Series` that Spark gives as an Arrow array; nulls alone are binary.

    Raises:
        ValueError: if the clock of the session's time zone shows a time twice, so that it is not known which is meant.
    """
    import pyarrow as pa

    array = pa.array(values, from_pandas=True)
    # Nulls alone have no type; strings are not treated as bytes.
    return array.cast(pa.binary()) if pa.types.is_null(array.type) else _with_zone(array)


def _plain_function(function: ArrowFunction, result_type: Any) -> Callable[..., Any]:
    import pandas as pd

    def per_series(*series: pd.Series) -> pd.Series:
        return pd.Series(function(*map(from_series, series)).to_pylist(), dtype=object)

    per_series.__name__ = function.__name__
    return cast(Callable[..., Any], cast(Any, pandas_functions.pandas_udf)(per_series, result_type))


def _struct_function(function: ArrowFunction, result_type: StructType) -> Callable[..., Any]:
    """Make a function of structs. A data frame has no null structs: each is the field of another one."""
    import pandas as pd

    def per_series(*series: pd.Series) -> pd.DataFrame:
        structs = function(*map(from_series, series)).to_pylist()
        return pd.DataFrame({"result": pd.Series(structs, dtype=object)})

    per_series.__name__ = function.__name__
    raw = cast(Any, pandas_functions.pandas_udf)(per_series, StructType([StructField("result", result_type)]))

    @wraps(raw)
    def unpacked(*columns: Any) -> Any:
        return raw(*(col(column) if isinstance(column, str) else column for column in columns))["result"].alias(function.__name__)

    return unpacked


def _with_zone(array: Any) -> Any:
    """Return an array whose times without a zone, at any depth, are times of UTC: a pandas_udf gets those of the session's time zone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return pc.assume_timezone(array.cast(pa.timestamp("us")), _session_zone()).cast(pa.timestamp("us", "UTC"))
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(array.offsets, _with_zone(array.values), mask=array.is_null() if array.null_count else None)
    if pa.types.is_struct(kind):
        fields = [_with_zone(field) for field in array.flatten()]
        return pa.StructArray.from_arrays(fields, kind.names, mask=array.is_null() if array.null_count else None)
    return array


def _session_zone() -> str:
    """Return the time zone of the session, in a task; that of the machine if the session names none."""
    context = TaskContext.get()
    named = None if context is None else context.getLocalProperty(_SESSION_ZONE)
    if named:
        return named
    seconds = cast(datetime.timedelta, datetime.datetime.now().astimezone().utcoffset()).total_seconds()
    return f"{'-' if seconds < 0 else '+'}{abs(int(seconds)) // 3600:02}:{abs(int(seconds)) % 3600 // 60:02}"
