# SPDX-License-Identifier: MIT
"""Arrow's PyCapsule interface, on the library's Arrow structs.

A capsule's destructor would have to be C: one in Python would run in the middle of whatever drops
the capsule, maybe with an exception on its way. So each capsule is remembered here, and the next
one frees those that nobody else has.
"""
from __future__ import annotations

import ctypes
import sys
import threading
from ctypes import CFUNCTYPE, PYFUNCTYPE, byref, c_char_p, c_int64, c_void_p, py_object
from typing import Any, Optional

from ._library import CErr, check, lib


class CSchema(ctypes.Structure):
    _fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p),
                ("flags", c_int64), ("n_children", c_int64), ("children", c_void_p),
                ("dictionary", c_void_p), ("release", c_void_p), ("private_data", c_void_p)]


class CArray(ctypes.Structure):
    _fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64),
                ("n_buffers", c_int64), ("n_children", c_int64), ("buffers", c_void_p),
                ("children", c_void_p), ("dictionary", c_void_p), ("release", c_void_p),
                ("private_data", c_void_p)]


class CArrayStream(ctypes.Structure):
    _fields_ = [("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p),
                ("release", c_void_p), ("private_data", c_void_p)]


_RELEASE = CFUNCTYPE(None, c_void_p)
_new_capsule = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))
_lock = threading.Lock()
_living: list[tuple[Any, Any]] = []


def _release(struct: Any) -> None:
    if struct.release:
        _RELEASE(struct.release)(ctypes.addressof(struct))


def sweep() -> int:
    """Free what nobody has any more; how many are left."""
    with _lock:
        # one reference is the pair's, one the argument's
        dead = [pair for pair in _living if sys.getrefcount(pair[0]) <= 2]
        for _, struct in dead:
            _release(struct)
        _living[:] = [pair for pair in _living if not any(pair is d for d in dead)]
        return len(_living)


def _capsule(struct: Any, name: bytes) -> Any:
    capsule = _new_capsule(ctypes.addressof(struct), name, None)
    with _lock:
        _living.append((capsule, struct))
    return capsule


def array_of(kept: Optional[int]) -> tuple[Any, Any]:
    sweep()
    schema, array, err = CSchema(), CArray(), CErr()
    check(lib.pm_kept_arrow(kept, ctypes.addressof(schema), ctypes.addressof(array),
                            byref(err)), err)
    return _capsule(schema, b"arrow_schema"), _capsule(array, b"arrow_array")


def stream_of(reader: Optional[int]) -> Any:
    """On return the reader belongs to the capsule."""
    sweep()
    stream, err = CArrayStream(), CErr()
    check(lib.pm_reader_arrow(reader, ctypes.addressof(stream), byref(err)), err)
    return _capsule(stream, b"arrow_array_stream")
