# SPDX-License-Identifier: MIT
"""libpugmark.so.1 as ctypes sees it: its structs, its calls, its errors.

Structs are those of include/pugmark/*.h, in the same order. The library is loaded by the first
call. Every call releases the interpreter's lock while it runs.
"""
from __future__ import annotations

import ctypes
import os
import threading
from ctypes import (CFUNCTYPE, POINTER, Structure, Union, byref, c_char, c_char_p, c_double, c_int,
                    c_int16, c_int32, c_int64, c_size_t, c_uint, c_uint8, c_uint16, c_uint32,
                    c_uint64, c_void_p)
from pathlib import Path
from typing import Any, Callable, Optional, Union as Either

SONAME = "libpugmark.so.1"
SYMBOLS = b"PUGMARK_1"
PM_OK, PM_END, PM_ERR = 0, 1, -1
PM_NONE = 0xffffffff
THREADS_ALL = 0xffffffff

PathLike = Either[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class Error(Exception):
    """What went wrong, and where.

    ``str()`` is the line that the command prints: ``FILE:PLACE: MESSAGE``.

    * ``message``: what is wrong;
    * ``file``: the file that it is about, or None;
    * ``place``: the first byte (from 0) or line (from 1) that was not accepted, or None;
    * ``unit``: what ``place`` counts, ``"byte"`` or ``"line"``, or None.
    """

    def __init__(self, text: str, message: Optional[str] = None, file: Optional[str] = None,
                 place: Optional[int] = None, unit: Optional[str] = None) -> None:
        super().__init__(text)
        self.message = text if message is None else message
        self.file = file
        self.place = place
        self.unit = unit

    def __reduce__(self) -> Any:
        return Error, (str(self), self.message, self.file, self.place, self.unit)


Error.__module__ = "pugmark"


# ---- structs of err.h ---------------------------------------------------------------------------

class CErr(Structure):
    _fields_ = [("file", c_char_p), ("off", c_uint64), ("place", c_int), ("msg", c_char * 240)]


# ---- structs of pugmark.h -----------------------------------------------------------------------

class CEvent(Structure):
    _fields_ = [("kind", c_uint8), ("flags", c_uint8), ("size", c_uint16), ("id", c_uint32),
                ("addr", c_uint64), ("value", c_uint64)]


class CUop(Structure):
    _fields_ = [("pc", c_uint64), ("imm", c_int64), ("mem", c_uint64), ("fall", c_uint64),
                ("target", c_uint64), ("src1", c_int16), ("src2", c_int16), ("dest", c_int16),
                ("flag_use", c_uint8), ("outcome", c_uint8), ("access", c_uint8),
                ("msize", c_uint8), ("index", c_int32), ("macro", c_char * 12),
                ("micro", c_char * 23)]


class CBus(Structure):
    _fields_ = [("time", c_uint64), ("type", c_uint8), ("lanes", c_uint8), ("attr", c_uint8),
                ("agent", c_uint8), ("raw", c_uint8 * 4), ("data", c_uint64)]


class CRare(Structure):
    _fields_ = [("code", c_uint32), ("nargs", c_uint32), ("arg", c_uint64 * 8),
                ("name", c_char_p)]


class CInsn(Structure):
    _fields_ = [("pc", c_uint64), ("bytes", c_uint8 * 15), ("len", c_uint8), ("flow", c_uint8),
                ("nref", c_uint8), ("rep", c_uint8), ("isa", c_uint8), ("object", c_uint32)]


class CBlock(Structure):
    _fields_ = [("pc", c_uint64), ("insn", c_uint32), ("n", c_uint32)]


class CObject(Structure):
    _fields_ = [("path", c_char_p), ("build_id", c_char_p), ("base", c_uint64),
                ("lo", c_uint64), ("hi", c_uint64)]


class CCode(Structure):
    _fields_ = [("insn", c_void_p), ("block", c_void_p), ("object", c_void_p),
                ("ninsn", c_size_t), ("nblock", c_size_t), ("nobject", c_size_t),
                ("epoch", c_uint32)]


class CStream(Structure):
    _fields_ = [("index", c_uint32), ("pid", c_uint32), ("tid", c_uint32), ("space", c_uint64),
                ("name", c_char_p)]


class CSizes(Structure):
    _fields_ = [(name, c_uint32) for name in (
        "sizes", "batch", "stream", "code", "event", "uop", "bus", "rare", "insn", "block",
        "object")]


class CBatch(Structure):
    _fields_ = [("sizes", POINTER(CSizes)), ("stream", c_void_p), ("code", c_void_p),
                ("ev", c_void_p), ("n", c_size_t), ("uop", c_void_p), ("bus", c_void_p),
                ("rare", c_void_p), ("arena", c_void_p), ("nuop", c_size_t), ("nbus", c_size_t),
                ("nrare", c_size_t), ("narena", c_size_t), ("first_insn", c_uint64)]


# ---- structs of library.h -----------------------------------------------------------------------

class CFormatAbout(Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("has", c_uint32),
                ("needs", c_uint32), ("name", c_char_p), ("about", c_char_p),
                ("plural", c_char_p), ("suffixes", c_char_p)]


class CSimulatorAbout(Structure):
    _fields_ = [("struct_size", c_uint32), ("needs", c_uint32), ("name", c_char_p),
                ("about", c_char_p)]


class CReaderAbout(Structure):
    _fields_ = [("struct_size", c_uint32), ("facts", c_uint32), ("format", c_char_p),
                ("bytes", c_uint64), ("part", c_double)]


class _NodeValue(Union):
    _fields_ = [("u64", c_uint64), ("f64", c_double), ("str", c_char_p)]


class CNode(Structure):
    pass


CNode._fields_ = [("kind", c_int), ("name", c_char_p), ("unit", c_char_p), ("v", _NodeValue),
                  ("first", POINTER(CNode)), ("last", POINTER(CNode)), ("next", POINTER(CNode)),
                  ("parent", POINTER(CNode))]

PROGRESS = CFUNCTYPE(c_int, c_void_p, c_uint64, c_double)


class CConvertOptions(Structure):
    _fields_ = [("struct_size", c_uint32), ("threads", c_uint32), ("from_", c_char_p),
                ("to", c_char_p), ("transforms", POINTER(c_char_p)), ("progress", PROGRESS),
                ("arg", c_void_p)]


# ---- calls --------------------------------------------------------------------------------------

_H, _E, _S, _P = c_void_p, POINTER(CErr), c_char_p, c_void_p
_CALLS: dict[str, tuple[Any, list[Any]]] = {
    "pm_version": (c_char_p, []),
    "pm_err_format": (None, [_E, c_char_p, c_size_t]),
    "pm_facts_format": (None, [c_uint32, c_char_p, c_size_t]),
    "pm_event_name": (c_char_p, [c_uint]),
    "pm_format_get": (c_int, [c_size_t, POINTER(CFormatAbout), _E]),
    "pm_simulator_get": (c_int, [c_size_t, POINTER(CSimulatorAbout), _E]),
    "pm_results_root": (POINTER(CNode), [_H, _E]),
    "pm_results_json": (c_char_p, [_H, _E]),
    "pm_results_close": (c_int, [_H, _E]),
    "pm_reader_open": (_H, [_S, _S, _E]),
    "pm_reader_about": (c_int, [_H, POINTER(CReaderAbout), _E]),
    "pm_reader_note_at": (c_int, [_H, c_size_t, POINTER(c_char_p), POINTER(c_char_p), _E]),
    "pm_reader_transform": (c_int, [_H, _S, _E]),
    "pm_reader_blocks": (c_int, [_H, _E]),
    "pm_reader_keep": (c_int, [_H, POINTER(_H), POINTER(_P), _E]),
    "pm_reader_arrow": (c_int, [_H, _P, _E]),
    "pm_reader_close": (c_int, [_H, _E]),
    "pm_kept_arrow": (c_int, [_H, _P, _P, _E]),
    "pm_kept_close": (c_int, [_H, _E]),
    "pm_writer_create": (_H, [_S, _S, c_uint32, POINTER(c_char_p), _E]),
    "pm_writer_push": (c_int, [_H, POINTER(CBatch), _E]),
    "pm_writer_commit": (c_int, [_H, POINTER(_H), _E]),
    "pm_writer_close": (c_int, [_H, _E]),
    "pm_simulation_new": (_H, [_E]),
    "pm_simulation_add": (c_int, [_H, _S, _E]),
    "pm_simulation_object": (c_int, [_H, _S, _E]),
    "pm_simulation_threads": (c_int, [_H, c_uint32, _E]),
    "pm_simulation_run": (c_int, [_H, _H, PROGRESS, c_void_p, POINTER(_H), _E]),
    "pm_simulation_begin": (c_int, [_H, c_uint32, _E]),
    "pm_simulation_push": (c_int, [_H, POINTER(CBatch), _E]),
    "pm_simulation_finish": (_H, [_H, _E]),
    "pm_simulation_close": (c_int, [_H, _E]),
    "pm_convert": (c_int, [_S, _S, POINTER(CConvertOptions), POINTER(_H), _E]),
    "pm_verify": (c_int, [_S, _S, POINTER(_H), _E]),
}


def _find() -> str:
    """$PUGMARK_LIBRARY; the library that was installed with this package; the loader's."""
    named = os.environ.get("PUGMARK_LIBRARY")
    if named:
        return named
    # LIB/python3/dist-packages/pugmark/_library.py
    installed = Path(__file__).resolve().parents[3] / SONAME
    return str(installed) if installed.exists() else SONAME


def _load(path: str) -> dict[str, Any]:
    try:
        so = ctypes.CDLL(path)
    except OSError as e:
        raise Error(f"{path}: the library cannot be loaded: {e}", str(e), path) from None
    dlvsym = ctypes.CDLL(None).dlvsym
    dlvsym.restype = c_void_p
    dlvsym.argtypes = [c_void_p, c_char_p, c_char_p]
    calls = {}
    for name, (restype, argtypes) in _CALLS.items():
        at = dlvsym(so._handle, name.encode(), SYMBOLS)
        if not at:
            what = (f"not the {SONAME} that this package needs: "
                    f"it has no {name}@{SYMBOLS.decode()}")
            raise Error(f"{path}: {what}", what, path)
        calls[name] = CFUNCTYPE(restype, *argtypes)(at)
    return calls


class _Library:
    """Its attributes are the calls; the first one that is asked for loads the library."""

    _lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        if name not in _CALLS:
            raise AttributeError(name)
        with self._lock:
            if name not in self.__dict__:
                self.__dict__.update(_load(_find()))
        return self.__dict__[name]


lib = _Library()


def text(s: Optional[bytes]) -> Optional[str]:
    return None if s is None else s.decode("utf-8", "surrogateescape")


def raw(s: Optional[PathLike]) -> Optional[bytes]:
    if s is None:
        return None
    b = os.fsencode(s)
    if b"\0" in b:
        raise ValueError("embedded null byte")
    return b


def error_of(err: CErr) -> Error:
    buf = ctypes.create_string_buffer(4600)
    lib.pm_err_format(byref(err), buf, len(buf))
    unit = ("byte", "line", None)[err.place] if 0 <= err.place < 3 else None
    if err.file is None:
        unit = None
    return Error(text(buf.value) or "", text(err.msg), text(err.file),
                 err.off if unit else None, unit)


def check(status: int, err: CErr) -> None:
    """Raise what ``err`` says, if the call has failed."""
    if status == PM_ERR:
        raise error_of(err)


def close_quietly(close: str, handle: Optional[int]) -> None:
    """For __del__: the module may be going away, and nobody hears of an error."""
    call = lib.__dict__.get(close) if lib is not None else None
    if call is not None and handle:
        call(handle, None)


def strings(*items: Optional[bytes]) -> Any:
    """A NULL-terminated array."""
    return (c_char_p * (len(items) + 1))(*items, None)


def threads(n: Optional[int]) -> int:
    """None: one for each processor."""
    if n is None:
        return THREADS_ALL
    if not 0 <= n < THREADS_ALL:
        raise ValueError(f"there cannot be {n} threads")
    return n


# ---- long calls ---------------------------------------------------------------------------------

Progress = Callable[[int, float], Any]


def long_call(call: Callable[[Any], Any], progress: Optional[Progress] = None,
              abandon: bool = False) -> Any:
    """``call(told)``, which may take long, so that ^C ends it.

    A signal's handler runs in the main thread, between two of its bytecodes: so the call gets a
    thread of its own while the main one waits. ``told`` is a pm_progress, which stops the call
    if an interrupt came or ``progress(events, part)`` returned something true. A call that has no
    such thing is left alone to its end (``abandon``).
    """
    stop = False
    raised: list[BaseException] = []
    result: list[Any] = []

    def tell(_arg: Any, events: int, part: float) -> int:
        try:
            return 1 if stop or (progress is not None and progress(events, part)) else 0
        except BaseException as e:
            raised.append(e)
            return 1

    told = PROGRESS(tell)

    def work() -> None:
        try:
            result.append(call(told))
        except BaseException as e:
            raised.append(e)

    interrupt: Optional[BaseException] = None
    if threading.current_thread() is threading.main_thread():
        thread = threading.Thread(target=work, name="pugmark", daemon=True)
        started = False
        while True:
            try:
                if not started:
                    started = True
                    thread.start()
                thread.join()
                break
            except BaseException as e:
                stop = True
                interrupt = e
                if abandon:
                    break
    else:
        work()
    if interrupt is not None:
        raise interrupt
    if raised:
        raise raised[0]
    return result[0]
