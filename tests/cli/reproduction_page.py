#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""reproduction_page.py BIN SOURCE: docs/reproduction.md is what its stored figures give, as TAP. Simulates nothing."""

import copy
import importlib.util
import os
import subprocess
import sys

SCRIPT = os.path.join(os.path.abspath(sys.argv[2]), "reproduction", "nomora.py")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(SCRIPT))
spec = importlib.util.spec_from_file_location("nomora", SCRIPT)
nomora = importlib.util.module_from_spec(spec)
spec.loader.exec_module(nomora)
checks, failed = 0, 0


def check(name, good, note=""):
    global checks, failed
    checks += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {checks} - {name}" + (f"\n# {note}" if note and not good else ""))


def leaves(value, path=()):
    """Yields the paths of all numbers."""
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, path + (key,))
    elif isinstance(value, (int, float)):
        yield path


def changed(stored, path):
    other = copy.deepcopy(stored)
    inner = other
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = inner[path[-1]] * 1.37 + 0.1
    return other


stored = nomora.json.loads(nomora.FIGURES.read_text(encoding="utf-8"))
text = nomora.TEXT.read_text(encoding="utf-8")
page = nomora.page(stored, text)
check("the page is the one of its figures", subprocess.run([sys.executable, SCRIPT, "--check"], check=False).returncode == 0,
      "run reproduction/nomora.py")
check("no expression is left", "{{" not in page and "}}" not in page)
wanted = nomora.runs()
check("all runs are stored, no others", set(stored["runs"]) == set(wanted), set(stored["runs"]) ^ set(wanted))
other = [name for name, run in stored["runs"].items() if name not in stored["kept"] and run["options"] != " ".join(wanted[name])]
check("with their options", not other, other)
for run, policy in (("day", nomora.P105), ("day-first", nomora.P110), ("day-beta1", nomora.BETA1), ("day-beta0", nomora.BETA0_SECOND)):
    check(f"the page has the areas of {run}", nomora.page(changed(stored, ("runs", run, "policies", policy, "area")), text) != page)
silent = [path for run in ("slots", "roots", "seeds") for path in leaves(stored["runs"][run]["areas"], ("runs", run, "areas"))
          if path[3] != "load_spreading" and nomora.page(changed(stored, path), text) == page]
check("and each area of the sweeps", not silent, silent)
print(f"1..{checks}")
sys.exit(failed > 0)
