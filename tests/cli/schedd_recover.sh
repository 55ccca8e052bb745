#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora schedd --network: tasks of failed machines are placed by recovery, as forecast, and the journal repeats it.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d /tmp/nomora-recover.XXXXXX) # the path of a unix socket must be short
at_exit bash -c "cd $dir; kill -9 \$(cat pid); rm -rf $dir"
run timeout 200 python3 "$(dirname "$0")/schedd_recover.py" "$bin" "$dir" "$source_root/curves"
[ "$code" -eq 0 ] && pass "tasks of failed machines are placed together, as forecast" || fail "recovery" "$out" "$err"
"$nomora" schedd export --state "$dir/recover.state" >"$dir/journal"
check "the journal has the recoveries" test "$(grep -c '"do": "recover"' "$dir/journal")" -ge 4
run "$nomora" simulate --journal "$dir/journal" --live
check "and leads to the same decisions" test "$code" -eq 0
schedd() { "$bin/nomora-schedd" schedd --state "$dir/other" --socket "$dir/s" --curves "$source_root/curves" "$@"; }
echo '{"schema": "nomora.recovery/1", "servers": [{"name": "a", "cpu": 1, "egress_MBps": -1, "ingress_MBps": 1}], "applications": []}' >"$dir/bad.json"
refuses "a network with a bad number" 1 "$dir/bad.json:1: servers\[0\].egress_MBps" schedd --network "$dir/bad.json"
refuses "a network that is not there" 1 "$dir/none.json" schedd --network "$dir/none.json"
check "nothing is left of a refused start" test ! -e "$dir/other"
plan
