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
printf '%s' "$out" | grep -q '"schema": "nomora.solve/1"' && printf '%s' "$out" | grep -q '"verified": true' &&
	printf '%s' "$out" | grep -q '"cost": 6' && pass "JSON" || fail "JSON" "$out" "$err"
sed 's/^n 1 2/n 1 7/; s/^n 4 -2/n 4 -7/' "$net" >"$scratch/too_much"
for algorithm in auto simplex scaling; do
	run "$nomora" solve --json --algorithm "$algorithm" "$scratch/too_much"
	[ "$code" -eq 3 ] && printf '%s' "$out" | grep -q '"status": "infeasible"' && pass "infeasible as JSON by $algorithm" ||
		fail "infeasible as JSON by $algorithm" "exit $code" "$out"
	refuses "infeasible by $algorithm" 3 '^c infeasible' "$nomora" solve --verify --algorithm "$algorithm" "$scratch/too_much"
done
sed 's/^a 2 3 .*/a 2 9 0 2 1/' "$net" >"$scratch/bad"
refuses "an unknown node" 1 'bad:7: HEAD: found 9, expected 1..4' "$nomora" solve "$scratch/bad"
head -c 60 "$net" >"$scratch/cut"
refuses "a file cut in half" 1 'cut:[0-9]+: ' "$nomora" solve "$scratch/cut"
head -c 60 "$net.gz" >"$scratch/cut.gz"
refuses "a gzip file cut in half" 1 'cut.gz:[0-9]+: the gzip stream ends early' "$nomora" solve "$scratch/cut.gz"
refuses "a file that is not there" 1 'nowhere: cannot open: No such file' "$nomora" solve "$scratch/nowhere"
refuses "a folder" 1 "it is a folder, expected a file" "$nomora" solve "$scratch"
refuses "an unknown algorithm" 2 'algorithm' "$nomora" solve --algorithm magic "$net"
refuses "no file" 2 'missing|operand' "$nomora" solve
plan
