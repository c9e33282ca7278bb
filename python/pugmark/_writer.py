# SPDX-License-Identifier: MIT
"""Traces that are written: pugmark.create()."""
from __future__ import annotations

import os
from ctypes import byref, c_void_p
from typing import Any, Mapping, Optional, Union as Either

from ._batch import Batch, Code, Outgoing, Stream, iterate
from ._library import CErr, Error, PathLike, check, close_quietly, lib, raw, strings
from ._names import Fact
from ._results import Results, results_of
from ._trace import Trace


class Writer:
    """A trace that is being written. As a context manager it commits, unless an error came.

    Until commit() nothing has the file's name; only a ``.pug`` has it from the beginning.
    """

    def __init__(self, path: PathLike, format: Optional[str], facts: int,
                 notes: Mapping[str, str]) -> None:
        self.path = path
        self.results: Optional[Results] = None
        """What commit() returned."""
        self._out = Outgoing()
        flat = [raw(str(s)) for pair in notes.items() for s in pair]
        err = CErr()
        self._handle = lib.pm_writer_create(raw(path), raw(format), int(facts), strings(*flat),
                                            byref(err))
        if not self._handle:
            check(-1, err)

    def write(self, events: Any, *, like: Optional[Batch] = None,
              stream: Either[Stream, int, None] = None, code: Optional[Code] = None) -> None:
        """Write events: an array of dtype EVENT, a Batch, a Trace, or several of these.

        ``stream``: whose they are, by its number or as a Stream; None: a batch's own, else
        number 0. ``code``: the code table that ids mean; it may grow from call to call.
        ``like``: the batch of which an array is a part or a changed copy: what its events refer
        to, its stream and its code are the array's, too.
        """
        for part in iterate(events):
            batch, stays = self._out.batch(part, like, stream, code)
            err = CErr()
            check(lib.pm_writer_push(self._handle, byref(batch), byref(err)), err)
            del stays

    def commit(self) -> Results:
        """The trace is complete. Returns what was written."""
        results, err = c_void_p(), CErr()
        status = lib.pm_writer_commit(self._handle, byref(results), byref(err))
        self.results = results_of(results, status, err)
        return self.results

    def close(self) -> None:
        """Without commit() before, what was written is gone."""
        lib.pm_writer_close(self._handle, None)

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            if kind is None and self.results is None:
                self.commit()
        finally:
            self.close()

    def __del__(self, close: Any = close_quietly) -> None:
        close("pm_writer_close", getattr(self, "_handle", None))


def create(path: PathLike, format: Optional[str] = None, *, facts: Either[int, Trace] = 0,
           notes: Optional[Mapping[str, str]] = None) -> Writer:
    """Begin to write a trace.

    ``format``: one of formats(); None: by the name, of which .gz, .zst, .xz and .bz2 say how to
    pack. ``facts``: what the events will know, or a Trace that knows as much, and whose notes are
    taken over. ``notes``: what the trace shall say about itself (.pug only).

    >>> with create("two.din", facts=Fact.REFS) as writer:
    ...     writer.write(events(kind=[Kind.READ, Kind.WRITE], addr=[0x1000, 0x2000]))
    """
    said: dict[str, str] = {}
    if isinstance(facts, Trace):
        # the tool and the level are those that write now
        said.update((k, v) for k, v in facts.notes.items() if k not in ("tool", "level"))
        facts = facts.facts
    said.update(notes or {})
    if os.fsencode(path) == b"":
        raise Error("the path to write to is empty")
    return Writer(path, format, int(facts), said)


__all__ = ["Fact", "Writer", "create"]
