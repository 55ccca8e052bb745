#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nats.sh BIN BENCH_NATS [ROWS]: transfer of rows from one live matrix to another over a NATS server on loopback.
set -euo pipefail
bin=$1 bench=$2 rows=${3:-2000}
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$folder"' EXIT
mkdir "$folder/ports"
nats-server -a 127.0.0.1 -p -1 --ports_file_dir "$folder/ports" 2>"$folder/log" &
until url=$(grep -oh 'nats://[0-9.:]*' "$folder"/ports/*.ports 2>/dev/null); do sleep 0.1; done
"$bench" "$folder/from" "$folder/into" "$rows" &
until [ -e "$folder/into" ]; do sleep 0.01; done
"$bin/nomora" mesh publish "$folder/from" --server "$url" --interval 0.001 >"$folder/publish" &
"$bin/nomora" mesh collect "$folder/into" --server "$url" >"$folder/collect" &
wait %2
