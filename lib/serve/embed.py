#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""embed.py NAME FILE OUTPUT: a C source with the file's bytes as `const char NAME[]`, ended by a NUL."""
import sys

name, source, output = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read()
with open(output, "w") as file:
    file.write(f"extern const char {name}[];\nconst char {name}[] = {{\n")
    for at in range(0, len(data), 24):
        file.write(",".join(str(byte if byte < 128 else byte - 256) for byte in data[at : at + 24]) + ",\n")
    file.write("0};\n")
