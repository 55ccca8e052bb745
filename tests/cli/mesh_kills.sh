#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGKILL of the writer of a live matrix, of publisher, collector and NATS server at random moments, 10 (NOMORA_KILLS)
# times: readers never see a torn value, no row gets older, and everything recovers by itself.
. "$(dirname "$0")/lib.sh"

command -v nats-server >/dev/null || skip_all "nats-server is not installed"
kills=${NOMORA_KILLS:-10}
if timeout --foreground -k 2 "$((100 + kills))" python3 "$(dirname "$0")/mesh_kills.py" "$nomora" "$scratch" "$kills" 19 >"$scratch/out" 2>&1; then
	pass "SIGKILL, no torn row, none older than before, rows arrive again: $(cat "$scratch/out")"
else
	fail "$kills times SIGKILL" "$(cat "$scratch/out")" "$(tail -n 20 "$scratch/log")"
fi
plan
