"""Reads with `MemoryRecords`, the class that kafka-python has and aiokafka took over."""
from harness import run, crc


def contest(MemoryRecords):
    def light(data):
        n = s = 0
        m = MemoryRecords(data)
        while m.has_next():
            b = m.next_batch()
            if not b.validate_crc():
                raise ValueError("crc")
            for r in b:
                n += 1
                k = r.key; v = r.value
                s += r.offset + r.timestamp + (0 if k is None else len(k)) + (0 if v is None else len(v)) + len(r.headers)
        return n, s

    def full(data):
        s = 0
        m = MemoryRecords(data)
        while m.has_next():
            b = m.next_batch()
            for r in b:
                s += r.offset + r.timestamp + crc(r.key) + crc(r.value)
                for k, v in r.headers:
                    s += crc(k.encode()) + crc(v)
        return s

    run(light, full)
