#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The files that `meson install` installs, and that they work there: plans and curves by name, completion, units.
. "$(dirname "$0")/lib.sh"
command -v meson >/dev/null || skip_all "meson is not installed"
root=$scratch/root
DESTDIR=$root meson install -C "$bin/.." --no-rebuild --quiet >"$scratch/log" 2>&1 || skip_all "meson install: $(tail -n 1 "$scratch/log")"
prefix=$(find "$root" -type d -name bin | head -n 1)
prefix=${prefix%/bin}
nomora=$prefix/bin/nomora
unset NOMORA_DATA
cd "$scratch" || exit 1

check "the programs" test -x "$nomora"
for command in $("$nomora" --complete | cut -f 1); do
	check "man page of $command" test -s "$prefix/share/man/man1/nomora-$command.1"
done
for file in nomora/plans/memcached.plan nomora/plans/mpi/pingpong.c nomora/curves/memcached.json nomora/demo/demo-jobs.jsonl \
	doc/nomora/formats.md doc/nomora/tutorial.md doc/nomora/LICENSE doc/nomora/firmware-notes/cores.md; do
	check "share/$file" test -s "$prefix/share/$file"
done
check "plans name no file outside their folder" sh -c "! grep -rn '\.\./' '$prefix/share/nomora/plans'"

# Plans by name; a local file of that name takes precedence.
run "$nomora" sweep memcached -o memcached.csv --dry-run
[ "$code" -eq 0 ] && says "$out" '500' && pass "a plan by its name" || fail "a plan by its name" "$out" "$err"
refuses "a plan that is not there" 1 'nowhere' "$nomora" sweep nowhere -o x.csv --dry-run
printf 'application = own\nclient = true\ndelays = 0 7 9\nmetric = m 1 higher regex:x\nserver-host = a\n' >memcached
run "$nomora" sweep memcached -o memcached.csv --dry-run
says "$out$err" '500' && fail "a file of that name wins" "$out" "$err" || pass "a file of that name wins"
mkdir -p data/plans && cp "$prefix/share/nomora/plans/redis.plan" data/plans/mine.plan
run env NOMORA_DATA="$scratch/data" "$nomora" sweep mine -o mine.csv --dry-run
[ "$code" -eq 0 ] && pass "NOMORA_DATA adds a folder" || fail "NOMORA_DATA adds a folder" "$out" "$err"

# Completion is generated from the tables: each command completes the options of its --help.
for command in fit sweep place lab report; do
	run "$nomora" $command --complete
	rows=$(printf '%s\n' "$out" | cut -f 1)
	"$nomora" $command --help >help
	missing=
	for row in $rows; do grep -q -- "$row" help || missing="$missing $row"; done
	[ "$code" -eq 0 ] && [ -n "$rows" ] && [ -z "$missing" ] && pass "$command --complete" || fail "$command --complete" "$missing" "$out"
done
complete_in_bash() { # WORDS...: the candidates for the last word
	PATH=$prefix/bin:$PATH bash --norc -c '
		. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _nomora; printf "%s\n" "${COMPREPLY[@]}"' \
		"$prefix/share/bash-completion/completions/nomora" "$@" | sort | tr '\n' ' '
}
touch plot.svg
for case in "nomora sw=sweep " "nomora fit --pl=--plot " "nomora place --latency-stat p=p50 p99 " "nomora lab do=down " \
	"nomora fit --plot pl=plot.svg " "nomora fit pl=plot.svg "; do
	read -ra words <<<"${case%%=*}"
	found=$(complete_in_bash "${words[@]}")
	[ "$found" = "${case#*=}" ] && pass "bash completes '${case%%=*}'" || fail "bash completes '${case%%=*}'" "$found"
done
if command -v zsh >/dev/null; then
	for case in "nomora swe=nomora sweep " "nomora sweep --repe=--repetitions " "nomora lab do=nomora lab down " \
		"nomora place --policy qu=quincy " "nomora fit pl=plot.svg "; do
		check "zsh completes '${case%%=*}'" env PATH="$prefix/bin:$PATH" timeout 20 \
			zsh -f "$source_root/tests/package/complete.zsh" "$prefix/share/zsh/site-functions" "${case%%=*}" "${case#*=}"
	done
else
	skip "zsh completes" "zsh is not installed"
fi

if command -v systemd-analyze >/dev/null; then
	for unit in inject probe reflect; do
		file=$(find "$root" -name "nomora-$unit@.service")
		sed "s,^ExecStart=[^ ]*,ExecStart=$nomora," "$file" >"nomora-$unit@eth0.service"
		run systemd-analyze verify --man=no "./nomora-$unit@eth0.service"
		[ "$code" -eq 0 ] && ! says "$err" "nomora-$unit" && pass "unit nomora-$unit@" ||
			fail "unit nomora-$unit@" "exit $code" "$err"
	done
	for unit in mesh-collect mesh-publish mesh-serve; do
		file=$(find "$root" -name "nomora-$unit.service")
		sed "s,^ExecStart=[^ ]*,ExecStart=$nomora," "$file" >"nomora-$unit.service"
		run systemd-analyze verify --man=no "./nomora-$unit.service"
		[ "$code" -eq 0 ] && ! says "$err" "nomora-$unit" && pass "unit nomora-$unit" ||
			fail "unit nomora-$unit" "exit $code" "$err"
	done
else
	skip "units" "systemd-analyze is not installed"
fi
plan
