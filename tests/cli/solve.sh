#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora solve: answers, proofs, exit codes and refusals.
. "$(dirname "$0")/lib.sh"

net=$scratch/net.dimacs
printf 'c two ways\np min 4 5\nn 1 2\nn 4 -2\na 1 2 0 4 2\na 1 3 0 2 2\na 2 3 0 2 1\na 2 4 0 3 3\na 3 4 0 5 1\n' >"$net"
for algorithm in auto simplex scaling; do
	run "$nomora" solve --algorithm "$algorithm" --flow --verify "$net"
	[ "$code" -eq 0 ] && [ "$out" = $'s 6\nf 1 3 2\nf 3 4 2' ] && pass "$algorithm" || fail "$algorithm" "exit $code" "$out" "$err"
done
refuses "structured refuses another shape" 1 'cannot solve a network of this shape' "$nomora" solve --algorithm structured "$net"
gzip -c "$net" >"$net.gz"
run "$nomora" solve "$net.gz"
[ "$code" -eq 0 ] && [ "$out" = "s 6" ] && pass "gzip" || fail "gzip" "exit $code" "$out" "$err"
"$nomora" solve - <"$net" >"$scratch/piped" && [ "$(cat "$scratch/piped")" = "s 6" ] && pass "stdin" || fail "stdin"
run "$nomora" solve --json --verify "$net"
says "$out" '"schema": "nomora.solve/1"' && says "$out" '"verified": true' &&
	says "$out" '"cost": 6' && pass "JSON" || fail "JSON" "$out" "$err"
sed 's/^n 1 2/n 1 7/; s/^n 4 -2/n 4 -7/' "$net" >"$scratch/too_much"
for algorithm in auto simplex scaling; do
	run "$nomora" solve --json --algorithm "$algorithm" "$scratch/too_much"
	[ "$code" -eq 3 ] && says "$out" '"status": "infeasible"' && pass "infeasible as JSON by $algorithm" ||
		fail "infeasible as JSON by $algorithm" "exit $code" "$out"
	refuses "infeasible by $algorithm" 3 '^c infeasible' "$nomora" solve --verify --algorithm "$algorithm" "$scratch/too_much"
done
refuses "why it is infeasible" 3 '^c infeasible: .*too_much: 7 units have to leave 1 of the 4 nodes \(1\), but the 2 arcs out of them can carry 6$' \
	"$nomora" solve "$scratch/too_much"
run "$nomora" solve --json --flow "$scratch/too_much"
check "so says JSON" python3 -c 'import json, sys; d = json.loads(sys.argv[1]); sys.exit(d["cut"] != {"nodes": 1, "first_nodes": [1], "supply": 7, "lower_in": 0, "arcs": 2, "capacity": 6} or "cost" in d or "flow" in d)' "$out"
printf 'p min 12 2\nn 1 1\nn 12 -1\na 1 2 0 3 0\na 12 2 2 3 0\n' >"$scratch/bounds"
refuses "by lower bounds, beyond nodes without a way" 3 '3 units have to leave [0-9]+ of the 12 nodes .*, 1 of supply and 2 that lower bounds send there, but no arc leaves them$' \
	"$nomora" solve --verify "$scratch/bounds"
printf 'p min 2 1\nn 1 2000000000\nn 2 -2000000000\na 1 2 0 2147483647 90000000000000000\n' >"$scratch/dear"
refuses "a cost beyond 64 bits names its file" 1 'dear: the total cost of the answer does not fit 64 bits' "$nomora" solve --json "$scratch/dear"
says "$out" '"status": "cost_range"' && pass "its JSON has the status" || fail "its JSON has the status" "$out"
run "$nomora" solve --json --algorithm structured "$net"
[ "$code" -eq 1 ] && says "$out" '"status": "unsuited"' && pass "so has that of a shape which does not suit" ||
	fail "so has that of a shape which does not suit" "exit $code" "$out"
run "$nomora" solve --json --flow "$net"
check "the flow as JSON" python3 -c 'import json, sys; d = json.loads(sys.argv[1]); sys.exit(d["flow"] != [[2, 1, 3, 2], [5, 3, 4, 2]] or d["cost"] != 6)' "$out"
printf 'p min 2 1\na 1 2 0 3 1\n' >"$scratch/idle"
run "$nomora" solve --json --flow "$scratch/idle"
check "no flow is an empty list" python3 -c 'import json, sys; sys.exit(json.loads(sys.argv[1])["flow"] != [])' "$out"
run "$nomora" solve --json "$net"
says "$out" '"flow"' && fail "none was asked for" "$out" || pass "none was asked for"
sed 's/^a 2 3 .*/a 2 9 0 2 1/' "$net" >"$scratch/bad"
refuses "an unknown node" 1 'bad:7: HEAD: found 9, expected 1..4' "$nomora" solve "$scratch/bad"
head -c 60 "$net" >"$scratch/cut"
refuses "a file cut in half" 1 'cut:[0-9]+: ' "$nomora" solve "$scratch/cut"
head -c 60 "$net.gz" >"$scratch/cut.gz"
refuses "a gzip file cut in half" 1 'cut.gz:[0-9]+: the gzip stream ends early' "$nomora" solve "$scratch/cut.gz"
python3 -c 'import random; random.seed(1); print("p min 2 2000"); [print("a 1 2 0", random.randrange(10**9), random.randrange(10**9)) for _ in range(2000)]' |
	gzip -c | python3 -c 'import sys; data = bytearray(sys.stdin.buffer.read()); data[9000:9040] = b"\xff" * 40; sys.stdout.buffer.write(data)' >"$scratch/damaged.gz"
refuses "a damaged gzip file, named once" 1 ': [^:]*damaged.gz(:[0-9]+)?: the gzip stream is damaged: [^:]+$' "$nomora" solve "$scratch/damaged.gz"
refuses "and as standard input" 1 'standard input.*: the gzip stream is damaged: [^:]+$' bash -c "'$nomora' solve - <'$scratch/damaged.gz'"
{ cat "$net.gz" && echo "no gzip stream"; } >"$scratch/trailing.gz"
run "$nomora" solve "$scratch/trailing.gz"
[ "$code" -eq 0 ] && [ "$out" = "s 6" ] && pass "what follows a gzip stream is not read" || fail "what follows a gzip stream is not read" "exit $code" "$out" "$err"
for cost in 96076792050570580 96076792050570581; do
	printf 'p min 2 1\na 1 2 0 1 %s\n' $cost >"$scratch/largest$cost"
done
check "the largest cost" "$nomora" solve --verify --algorithm scaling "$scratch/largest96076792050570580"
refuses "2^58 / (nodes + 1), rounded down" 1 'COST: found 96076792050570581, expected -96076792050570580\.\.96076792050570580' "$nomora" solve "$scratch/largest96076792050570581"
refuses "a file that is not there" 1 'nowhere: cannot open: No such file' "$nomora" solve "$scratch/nowhere"
refuses "a folder" 1 "it is a folder, expected a file" "$nomora" solve "$scratch"
refuses "an unknown algorithm" 2 'algorithm' "$nomora" solve --algorithm magic "$net"
refuses "no file" 2 'missing|operand' "$nomora" solve
plan
