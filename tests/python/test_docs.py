# SPDX-License-Identifier: MIT
"""What docs/python.md and the docstrings show, and the programs of examples/python."""
import doctest
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import pugmark
from common import REAL, InScratch, needs_pandas

TOP = Path(os.environ["TOP"])


class Docs(InScratch):
    def setUp(self):
        super().setUp()
        shutil.copy(REAL, self.dir / "prog.pug")
        old = os.getcwd()
        os.chdir(self.dir)
        self.addCleanup(os.chdir, old)

    def passes(self, test):
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        said = []
        runner.run(test, out=said.append)
        self.assertEqual(runner.failures, 0, "".join(said))
        self.assertGreater(runner.tries, 0)

    @needs_pandas
    def test_page(self):
        page = TOP / "docs" / "python.md"
        # a fence is no output
        text = page.read_text().replace("```python\n", "\n").replace("```\n", "\n")
        self.passes(doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0))

    def test_docstrings(self):
        names = {name: getattr(pugmark, name) for name in pugmark.__all__}
        tests = [doctest.DocTestParser().get_doctest(what.__doc__, dict(names), name, name, 0)
                 for name, what in names.items() if ">>>" in (what.__doc__ or "")]
        self.assertGreater(len(tests), 2)
        for test in tests:
            with self.subTest(test.name):
                self.passes(test)

    def run_example(self, name, *args):
        done = subprocess.run([sys.executable, TOP / "examples" / "python" / name, *args],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line.split() for line in done.stdout.splitlines()]

    def test_usage(self):
        for name in "misses.py", "branches.py", "working_set.py":
            done = subprocess.run([sys.executable, TOP / "examples" / "python" / name],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{name} TRACE", done.stderr.splitlines()[0])

    @needs_pandas
    def test_misses(self):
        rows = self.run_example("misses.py", "prog.pug", "l1d=1k,2way,64")
        said = pugmark.simulate("prog.pug", "cache:l1d=1k,2way,64;byinsn")
        first = said["cache"]["by_instruction"][0]
        self.assertEqual(rows[0], ["l1d_misses"])
        self.assertEqual(rows[2], [first["pc"], str(first["l1d_misses"])])

    def test_working_set(self):
        rows = self.run_example("working_set.py", "prog.pug", "60000")
        self.assertEqual(rows[0], ["instructions", "pages", "lines", "pages_so_far"])
        self.assertEqual([r[0] for r in rows[1:]], ["60000", "120000", "180000", "240000"])
        # the slow way, event by event
        seen, pages, insns, said = set(), set(), 0, []
        for kind, _, _, _, addr, _ in pugmark.open("prog.pug").events().tolist():
            if kind == pugmark.Kind.INSN:
                if insns and insns % 60000 == 0:
                    said.append([str(len(pages)), str(len(seen))])
                    pages = set()
                insns += 1
            elif pugmark.Kind.READ <= kind <= pugmark.Kind.MODIFY:
                pages.add(addr >> 12)
                seen.add(addr >> 12)
        said.append([str(len(pages)), str(len(seen))])
        self.assertEqual([[r[1], r[3]] for r in rows[1:]], said)

    @needs_pandas
    def test_branches(self):
        rows = self.run_example("branches.py", "prog.pug", "3")
        pc = int(rows[1][0], 16)
        branches = pugmark.open("prog.pug").events(pugmark.Kind.BRANCH)
        taken = (branches[branches["addr"] == pc]["flags"] & pugmark.Branch.TAKEN) != 0
        self.assertEqual(rows[1][1:4], [str(len(taken)), str(int(taken.sum())),
                                        str(int((taken[1:] != taken[:-1]).sum()))])


if __name__ == "__main__":
    unittest.main()
