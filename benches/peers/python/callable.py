"""Any Python decoder as a contestant: callable.py <module.py[:function]> <file> <repeat>

The function takes the file's bytes and returns either
  * something Arrow: pyarrow Table / RecordBatch / RecordBatchReader / list of RecordBatches / an object with
    __arrow_c_stream__ or __arrow_c_array__, with columns offset, timestamp or timestampMs, key, value
    (timestamp int64 ms or timestamp type; headers optional), or
  * an iterable of objects with offset, timestamp, key, value.
The timed work is the call plus a vectorised touch of every column (sum of offset, timestamp, lengths).
"""
import importlib.util, sys
import numpy as np
import pyarrow as pa, pyarrow.compute as pc
from harness import run, crc

spec = sys.argv[1]
path, _, fn = spec.partition(":")
sp = importlib.util.spec_from_file_location("contestant", path)
mod = importlib.util.module_from_spec(sp); sp.loader.exec_module(mod)
decode = getattr(mod, fn or "decode")

def batches(x):
    if isinstance(x, pa.RecordBatch): return [x]
    if isinstance(x, pa.Table): return x.to_batches()
    if isinstance(x, pa.RecordBatchReader): return x
    if hasattr(x, "__arrow_c_stream__"): return pa.RecordBatchReader.from_stream(x)
    if hasattr(x, "__arrow_c_array__"): return [pa.record_batch(x)]
    return None

def arrow(x):
    b = batches(x)
    if b is None:
        x = list(x) if not isinstance(x, (list, tuple)) else x
        if x and (isinstance(x[0], pa.RecordBatch) or hasattr(x[0], "__arrow_c_array__")):
            b = [pa.record_batch(i) for i in x]
        else:
            return None, x
    return b, None

def timestamps(rb, names):
    c = rb.column("timestampMs" if "timestampMs" in names else "timestamp")
    return c.cast(pa.timestamp("ms")).cast(pa.int64()) if pa.types.is_timestamp(c.type) else c

def total(c):
    return pc.sum(c).as_py() or 0

def lengths(c):
    """The sum of the lengths of a binary column. pyarrow has no binary_length for views: their first int32 is it."""
    if c.type != pa.binary_view():
        return total(pc.binary_length(c))
    views = np.frombuffer(c.buffers()[1], np.int32)[4 * c.offset:4 * (c.offset + len(c)):4]
    return int(views.sum(dtype=np.int64))

def light(data):
    n = s = 0
    b, rows = arrow(decode(data))
    if b is not None:
        for rb in b:
            n += rb.num_rows
            names = rb.schema.names
            s += total(rb.column("offset")) + total(timestamps(rb, names))
            s += lengths(rb.column("key")) + lengths(rb.column("value"))
            if "headers" in names:
                s += total(pc.list_value_length(rb.column("headers")))
    else:
        for r in rows:
            n += 1
            s += r.offset + r.timestamp + len(r.key or b"") + len(r.value or b"") + len(getattr(r, "headers", ()))
    return n, s

def header_sum(headers):
    s = 0
    for h in headers:
        for e in h or ():
            k, v = (e["key"], e["value"]) if isinstance(e, dict) else e
            s += crc(k.encode() if isinstance(k, str) else k) + crc(v)
    return s

def full(data):
    s = 0
    b, rows = arrow(decode(data))
    if b is not None:
        for rb in b:
            names = rb.schema.names
            s += total(rb.column("offset")) + total(timestamps(rb, names))
            for c in ("key", "value"):
                s += sum(map(crc, rb.column(c).to_pylist()))
            if "headers" in names:
                s += header_sum(rb.column("headers").to_pylist())
    else:
        for r in rows:
            s += r.offset + r.timestamp + crc(r.key) + crc(r.value) + header_sum([getattr(r, "headers", ())])
    return s

run(light, full)
