# SPDX-License-Identifier: MIT
"""What simulators and conversions found out."""
from __future__ import annotations

import ctypes
import json
from ctypes import byref
from typing import Any, Iterator, Optional, Union as Either

from ._library import CErr, check, close_quietly, error_of, lib, text


class Tables(dict[str, Any]):
    """A dict, whose lists of rows can be had as DataFrames."""

    def table(self, *path: Either[str, int]) -> Any:
        """The list or object at this path as a DataFrame.

        A list of objects: a row for each. An object of objects: a row for each, named as it is.
        Anything else: one row.
        """
        import pandas as pd

        at: Any = self
        for name in path:
            at = at[name]
        if isinstance(at, list):
            return pd.json_normalize(at) if at and isinstance(at[0], dict) \
                else pd.DataFrame(at)
        if at and isinstance(at, dict) and all(isinstance(v, dict) for v in at.values()):
            frame = pd.json_normalize(list(at.values()))
            frame.index = pd.Index(list(at))
            return frame
        return pd.json_normalize(at if isinstance(at, dict) else {path[-1]: at})

    def tables(self) -> dict[str, Any]:
        """All lists of rows as DataFrames, by their paths: ``"cache.levels"``."""
        return {".".join(map(str, path)): self.table(*path) for path in _lists(self, ())}


def _lists(at: Any, path: tuple[Either[str, int], ...]) -> Iterator[tuple[Either[str, int], ...]]:
    if isinstance(at, dict):
        for name, value in at.items():
            yield from _lists(value, path + (name,))
    elif isinstance(at, list) and at and isinstance(at[0], dict):
        yield path
        for i, value in enumerate(at):
            yield from _lists(value, path + (i,))


class Results(Tables):
    """Results, as a dict of dicts, lists, numbers and strings: that of the command's --json."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        err = CErr()
        self.json: str = text(lib.pm_results_json(handle, byref(err))) or ""
        """The same as a JSON document."""
        super().__init__(json.loads(self.json))

    def __reduce__(self) -> Any:
        return Tables, (dict(self),)

    def unit(self, *path: Either[str, int]) -> Optional[str]:
        """What the number at this path counts: ``"instructions"``. None: nothing is said."""
        err = CErr()
        node = lib.pm_results_root(self._handle, byref(err))
        for name in path:
            node = node.contents.first
            if isinstance(name, int):
                for _ in range(name):
                    node = node.contents.next if node else node
            else:
                wanted = name.encode("utf-8", "surrogateescape")
                while node and node.contents.name != wanted:
                    node = node.contents.next
            if not node:
                raise KeyError(name)
        return text(node.contents.unit)

    def __del__(self, close: Any = close_quietly) -> None:
        close("pm_results_close", getattr(self, "_handle", None))


def results_of(handle: ctypes.c_void_p, status: int, err: CErr) -> Results:
    """Of a call that has failed, an Error which has what there was as its ``results``."""
    results = Results(handle.value) if handle.value else None
    if status < 0:
        error = error_of(err)
        error.results = results     # type: ignore[attr-defined]
        raise error
    if results is None:
        check(-1, err)
        raise AssertionError("the library gave no results")
    return results
