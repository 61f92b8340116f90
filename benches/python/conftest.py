"""Input and names for the Python benches: `<verb>/<format>/<codec>/<shape>`, each over the head of a corpus."""

import pytest

from benches.segments import head

HEAD_BYTES = 8 << 20
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
SHAPES = ["small", "headers", "large"]


class Case:
    """The head of one corpus: `data` (bytes), `records`, `batches`, and the `codec` and `shape` it is named by."""

    def __init__(self, codec, shape):
        self.codec = codec
        self.shape = shape
        self.data, self.records, self.batches = head(f"{shape}-{codec}", HEAD_BYTES)


@pytest.fixture(scope="session", params=[(codec, shape) for codec in CODECS for shape in SHAPES], ids=lambda pair: "/".join(pair))
def case(request):
    return Case(*request.param)


@pytest.fixture
def measured(benchmark, case):
    """Call as measured(verb, function, *args): names the bench, notes its sizes, runs it, returns its result."""

    def run(verb, function, *args):
        benchmark.name = f"{verb}/v2/{case.codec}/{case.shape}"
        benchmark.extra_info.update(records=case.records, batches=case.batches, bytes=len(case.data))
        return benchmark(function, *args)

    return run
