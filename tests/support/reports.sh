#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# reports.sh PROGRAM: the leak gate of `./bootstrap test` counts files, so each kind of report must be in a file.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo 1..3
for kind in overflow leak use-after-free; do
	ASAN_OPTIONS=log_path=$folder/$kind UBSAN_OPTIONS=log_path=$folder/$kind LSAN_OPTIONS='' "$1" $kind 2>"$folder/said"
	if grep -qs 'runtime error\|ERROR: ' "$folder/$kind".*; then echo "ok - $kind"; else echo "not ok - $kind: $(head -n 1 "$folder/said")"; fi
done
