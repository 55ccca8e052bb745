#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every command of the table has --help, --version and a man page with all its options, in the same words, and refuses
bad options: one program, because a thousand greps and seds took half a minute. Prints TAP."""
import os
import re
import subprocess
import sys
import tempfile

bin_folder, source_root = sys.argv[1:3]
nomora = os.path.join(bin_folder, "nomora")
number = 0


def report(name, passed, *details, skip=None):
    global number
    number += 1
    print("ok" if passed else "not ok", number, "-", name + (f" # SKIP {skip}" if skip else ""))
    if not passed:
        for detail in details:
            print("\n".join("# " + line for line in str(detail).splitlines()))


def run(*words):
    return subprocess.run([nomora, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)


def refuses(name, code, pattern, *words):
    done = run(*words)
    lines = done.stderr.splitlines()
    report(name, done.returncode == code and len(lines) <= 2 and any(re.search(pattern, line) for line in lines),
           f"exit {done.returncode}, wanted {code}; wanted a line like: {pattern}", done.stderr)


def page(name):
    path = os.path.join(source_root, "docs/man", name + ".1")
    return open(path).read().replace("\\-", "-") if os.path.exists(path) else ""


def options(command, help_text):
    """The options in the helps of a command, or in those of its subcommands."""
    part = re.search(r"^Commands:\n(.*?)(?:\n\n|\Z)", help_text, re.M | re.S)
    subcommands = re.findall(r"^  (\S+)", part[1], re.M) if part else []
    texts = [run(command, sub, "--help").stdout for sub in subcommands] if subcommands else [help_text]
    report(f"{command}: helps with options", all("--help" in text for text in texts), subcommands)
    return sorted({name for text in texts for name in re.findall(r"^ +(?:-[A-Za-z], )?(--[a-z0-9-]+)", text, re.M)})


def is_told(command, option):
    """A macro's line names each option, as in '.BR -o ", " --output'; keys of a sweep's plan have no dashes."""
    of_all = option in ("--help", "--version", "--config")
    word = "(--)?" + option[2:] if command == "sweep" else option
    return re.search(r"^\.[BIR]{1,2} (.*[^a-z-])?" + word + r"([^a-z0-9-]|$)",
                     page("nomora" if of_all else "nomora-" + command), re.M)


def wrong_defaults(command, help_text):
    """Numbers that the man page gives as defaults, other than those of the help, which are the program's."""
    wrong = []
    for paragraph in re.split(r"^\.TP.*\n", page("nomora-" + command), flags=re.M)[1:]:
        head, _, body = paragraph.partition("\n")
        told = re.search(r"\bdefault:? ([0-9]+(?:\.[0-9]+)?)\b", re.split(r"^\.S[HS]", body, flags=re.M)[0].replace("\n", " "))
        for option in re.findall(r"--[a-z0-9-]+", head) if told else []:
            used = re.search(rf"^ +(?:-[A-Za-z], )?{option} .*\bdefault ([0-9.]+)\)$", help_text, re.M)
            if used and float(used[1]) != float(told[1]):
                wrong.append(f"{option}: {told[1]}, but the help has {used[1]}")
    return wrong


def check_words(command, sentence, help_text):
    said = next((line for line in help_text.splitlines() if not re.match("Usage:|  |$", line, re.I)), "")
    named = re.search(r"^\.SH NAME.*\n\S* - (.*)", page("nomora-" + command), re.M)
    listed = re.findall(rf"^\.BR nomora-{command} .*\n(.*)", page("nomora"), re.M)
    report(f"{command}: one sentence in all helps",
           said[:1].lower() + said[1:] == sentence + "." and named and named[1] == sentence and
           any(sentence[0].upper() + sentence[1:] + "." in line for line in listed), sentence, said, named, listed)
    report(f"{command} has a man page", page("nomora-" + command))
    wrong = wrong_defaults(command, help_text)
    report(f"{command}: its man page has the defaults", not wrong, *wrong)
    untold = [option for option in options(command, help_text) if not is_told(command, option)]
    report(f"{command}: its man page has every option", not untold, *untold)


def check(command, sentence, folder):
    done = run(command, "--help")
    if "this build has no " in done.stderr:
        report(command, True, skip=done.stderr.strip())
        return
    report(f"{command} --help", done.returncode == 0 and not done.stderr and
           re.search("^Usage: nomora", done.stdout, re.M) and "::\n" not in done.stdout, done)
    check_words(command, sentence, done.stdout)
    done = run(command, "--version")
    report(f"{command} --version", done.returncode == 0 and done.stdout, done)
    refuses(f"{command} refuses an unknown option", 2, "unknown or ambiguous option|no command",
            command, "--no-such-option")
    words = [command] + {"dataflow": ["plan"], "lab": ["status"], "mesh": ["show"]}.get(command, [])
    refuses(f"{command} --config of a bad file", 1, "bad.config:1: expected 'name = value'",
            *words, "--config", os.path.join(folder, "bad.config"))
    refuses(f"{command} --config of no file", 1, "no-such.config: No such file",
            *words, "--config", os.path.join(folder, "no-such.config"))


table = run("--help").stdout
commands = re.findall(r"^  (\S+) +(.*)", table, re.M)
report("nomora --help lists commands", commands, table)
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "bad.config"), "w") as file:
        file.write("not an option\n")
    for command, sentence in commands:
        check(command, sentence, folder)
first = re.search(r"^Start here:\n(.*?)\n\n", table, re.M | re.S)
rows = [f"| `nomora {name}` | {words} |" for name, words in re.findall(r"^  ([a-z-]+) +(.*)", first[1], re.M)]
readme = open(os.path.join(source_root, "README.md")).read()
part = readme[readme.index("\n## The commands"):]
shown = re.findall(r"^\| `nomora [a-z-]*` \| .*", part[:part.index("\n`nomora help`")], re.M)
report("README's table: the first commands of the help", rows and rows == shown, rows, shown)
refuses("an unknown command is refused", 2, "there is no command 'nonsense'", "nonsense")
report("no command at all is a usage error", run().returncode == 2)
print(f"1..{number}")
