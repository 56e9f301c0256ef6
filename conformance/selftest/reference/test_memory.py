"""What documents take of the process's memory, as the operating system's allocator counts it."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

MEASURE = """
import ctypes, sys
from isolane.fixtures.payloads import value
from isolane.reference import otlp

NAMES = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in NAMES]
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info
def used():
    info = libc.mallinfo2()
    return info.uordblks + info.hblkhd

record = value("otlp_proto", "logs", ["isotok" + "0" * 24], padding=int(sys.argv[1]))
decode = lambda offset: otlp.documents("managed_otlp.logs.a", 0, offset, "logs", record)
decode(0)
before = used()
documents = [decode(offset)[0] for offset in range(500)]
print((used() - before) / sum(len(document.source) for document in documents))
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="asks glibc, 2.33 or newer")
@pytest.mark.parametrize("padding", [600, 6_000, 60_000])
def test_a_document_takes_about_what_it_counts_for(padding: int) -> None:
    """MEM-2: bytes in flight are those of the documents, so they must not hold ten times as much."""
    command = [sys.executable, "-c", MEASURE, str(padding)]
    measured = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(measured.stdout) < 1.5
