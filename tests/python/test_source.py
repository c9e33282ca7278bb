# SPDX-License-Identifier: MIT
"""The package's source: types, style, and that its structs are those of the headers."""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import types
import unittest
from pathlib import Path

import pugmark
from pugmark import _library
from common import InScratch

TOP = Path(os.environ["TOP"])
PACKAGE = TOP / "python" / "pugmark"
EXAMPLES = TOP / "examples" / "python"


class Source(InScratch):
    def test_types(self):
        mypy = shutil.which("mypy")
        if not mypy:
            self.skipTest("needs mypy")
        done = subprocess.run(
            [mypy, "--strict", "--ignore-missing-imports", "--cache-dir", self.dir, PACKAGE],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "MYPYPATH": ""})
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue((PACKAGE / "py.typed").exists())

    def test_installed(self):
        """An installed package finds the library and the command beside it."""
        to = self.dir / "lib" / "python3" / "dist-packages"
        shutil.copytree(PACKAGE, to / "pugmark", ignore=shutil.ignore_patterns("__pycache__"))
        (self.dir / "bin").mkdir()
        (self.dir / "bin" / "pugmark").symlink_to(os.environ["PUGMARK"])
        (self.dir / "lib" / "libpugmark.so.1").symlink_to(os.environ["PUGMARK_LIBRARY"])
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PUGMARK")}
        done = subprocess.run(
            [sys.executable, "-c", "import pugmark; print(pugmark.version(), pugmark.command())"],
            env={**clean, "PYTHONPATH": str(to)}, stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.stdout, f"{pugmark.version()} {self.dir}/bin/pugmark\n")

    def test_style(self):
        files = [*PACKAGE.glob("*.py"), *EXAMPLES.glob("*.py"), *Path(__file__).parent.glob("*.py")]
        self.assertGreater(len(files), 10)
        for file in files:
            lines = file.read_text().split("\n")
            at = 1 if lines[0].startswith("#!") else 0
            self.assertEqual(lines[at], "# SPDX-License-Identifier: MIT", file)
            for i, line in enumerate(lines, 1):
                self.assertLessEqual(len(line), 100, f"{file}:{i}")
                self.assertEqual(line, line.rstrip(), f"{file}:{i}")

    def test_names(self):
        """`from pugmark import *` brings all that has a public name, and nothing else."""
        there = {name for name, what in vars(pugmark).items()
                 if not name.startswith("_") and not isinstance(what, types.ModuleType)}
        self.assertEqual(sorted(pugmark.__all__), sorted(there))

    def test_what_is_public_is_documented(self):
        for name in pugmark.__all__:
            what = getattr(pugmark, name)
            if isinstance(what, type) or callable(what):
                self.assertTrue(what.__doc__, name)
            if isinstance(what, type) and what.__module__.startswith("pugmark"):
                for member, value in vars(what).items():
                    if not member.startswith("_") and (callable(value) or
                                                       isinstance(value, property)):
                        self.assertTrue(value.__doc__, f"{name}.{member}")

    def test_structs(self):
        """Sizes and places as tests/data/libpugmark.abi has them."""
        said = dict(line.rsplit(" ", 1) for line in
                    (TOP / "tests" / "data" / "libpugmark.abi").read_text().splitlines()
                    if " " in line)
        known = {"err": _library.CErr, "event": _library.CEvent, "uop": _library.CUop,
                 "bus": _library.CBus, "rare": _library.CRare, "insn": _library.CInsn,
                 "block": _library.CBlock, "object": _library.CObject, "code": _library.CCode,
                 "stream": _library.CStream, "sizes": _library.CSizes,
                 "batch": _library.CBatch, "format_about": _library.CFormatAbout,
                 "simulator_about": _library.CSimulatorAbout,
                 "reader_about": _library.CReaderAbout,
                 "convert_options": _library.CConvertOptions}
        for name, struct in known.items():
            self.assertEqual(said[f"pm_{name}{{}}"], str(ctypes.sizeof(struct)), name)
            for field in struct._fields_:
                as_c = {"struct_size": "size", "from_": "from"}.get(field[0], field[0])
                member = getattr(struct, field[0])
                self.assertEqual(said[f"pm_{name}.{as_c}"], f"{member.offset}+{member.size}",
                                 f"{name}.{as_c}")

    def test_numbers(self):
        """Kinds, flags and facts as the header has them."""
        header = (TOP / "include" / "pugmark" / "pugmark.h").read_text()
        text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
        kinds = re.findall(r"PM_EV_(\w+)", re.search(r"enum pm_kind \{(.*?)\}", text, re.S)[1])
        self.assertEqual([k.name for k in pugmark.Kind], kinds[:-1])
        self.assertEqual([int(k) for k in pugmark.Kind], list(range(len(kinds) - 1)))
        self.assertEqual([k.name.lower().replace("_", "-") for k in pugmark.Kind],
                         pugmark.kind_names()[:-1])
        for prefix, enum in (("PM_HAS", pugmark.Fact), ("PM_BR", pugmark.Branch),
                             ("PM_REF", pugmark.Ref)):
            said = {name: 1 << int(bit)
                    for name, bit in re.findall(prefix + r"_(\w+)\s*= 1 << (\d+)", text)}
            self.assertEqual({n: int(v) for n, v in enum.__members__.items()}, said)
        self.assertEqual(
            [f.name for f in pugmark.Flow],
            re.findall(r"PM_CLASS_(\w+)", re.search(r"enum pm_insn_class \{(.*?)\}", text,
                                                    re.S)[1]))
        self.assertEqual([i.name for i in pugmark.Isa],
                         re.findall(r"PM_ISA_(\w+)", re.search(r"enum pm_isa \{(.*?)\}", text,
                                                             re.S)[1]))
        exported = re.findall(r"\b(pm_\w+);", (TOP / "src" / "libpugmark.map").read_text())
        self.assertLessEqual(set(_library._CALLS), set(exported))


if __name__ == "__main__":
    unittest.main()
