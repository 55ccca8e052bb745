#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every command of the table has --help, --version and a man page without groff warnings; unknown commands are refused.
. "$(dirname "$0")/lib.sh"

run "$nomora" --help
commands=$(awk '/^  /{print $1}' <<<"$out")
table=$out
[ -n "$commands" ] && pass "nomora --help lists commands" || fail "nomora --help lists commands" "$out"
for command in $commands; do
	run "$nomora" "$command" --help
	case $err in *"this build has no "*)
		skip "$command" "built without ${err##*this build has no }"
		continue
		;;
	esac
	if [ "$code" -eq 0 ] && [ -z "$err" ] && printf '%s\n' "$out" | grep -q '^Usage: nomora'; then
		pass "$command --help"
	else
		fail "$command --help" "exit $code" "$out" "$err"
	fi
	help=$out
	sentence=$(sed -n "s/^  $command  *//p" <<<"$table")
	said=$(grep -m1 -ivE '^(Usage:|  |$)' <<<"$help")
	named=$(sed -n '/^\.SH NAME/{n;s/\\-/-/g;s/^[^ ]* - //p}' "$source_root/docs/man/nomora-$command.1")
	[ "${said,}" = "$sentence." ] && [ "$named" = "$sentence" ] && sed 's/\\-/-/g' "$source_root/docs/man/nomora.1" | grep -A1 "^.BR nomora-$command " |
		grep -qF "${sentence^}." && pass "$command: one sentence in all helps" || fail "$command: one sentence in all helps" "$sentence" "$said" "$named"
	run "$nomora" "$command" --version
	[ "$code" -eq 0 ] && [ -n "$out" ] && pass "$command --version" || fail "$command --version" "exit $code" "$out$err"
	page=$source_root/docs/man/nomora-$command.1
	if ! [ -f "$page" ]; then
		fail "$command has a man page" "$page is not there"
	elif ! command -v groff >/dev/null; then
		skip "$command has a man page" "groff is not installed"
	else
		complaints=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
		[ -z "$complaints" ] && pass "$command has a man page" || fail "$command has a man page" "$complaints"
	fi
	sed 's/\\-/-/g' "$source_root/docs/man/nomora.1" | grep -qE "\bnomora-$command\b" && pass "nomora(1) names $command" ||
		fail "nomora(1) names $command"
	# In man pages, a macro's line names each option, as in ".BR \-o ", " \-\-output"; keys of a sweep's plan have
	# no dashes.
	subcommands=$(printf '%s\n' "$help" | sed -n '/^Commands:/,/^$/p' | awk '/^  /{print $1}')
	untold=
	for option in $(for sub in ${subcommands:-''}; do "$nomora" "$command" $sub --help; done |
		grep -oE '^ +(-[A-Za-z], )?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+' | sort -u); do
		case $option in --help | --version | --config) told=nomora.1 ;; *) told=nomora-$command.1 ;; esac
		[ "$command" != sweep ] || word="(--)?${option#--}"
		[ "$command" = sweep ] || word=$option
		sed 's/\\-/-/g' "$source_root/docs/man/$told" | grep -qE "^\.[BIR]{1,2} (.*[^a-z-])?$word([^a-z0-9-]|\$)" || untold="$untold $option"
	done
	[ -z "$untold" ] && pass "$command: its man page has every option" || fail "$command: its man page has every option" "not:$untold"
	refuses "$command refuses an unknown option" 2 "unknown or ambiguous option|no command" \
		"$nomora" "$command" --no-such-option
done
# README's table has the first group, in the same words.
check "README's table: the first commands of the help" diff <(sed -n '/^Start here:/,/^$/s/^  \([a-z-]*\)  *\(.*\)/| `nomora \1` | \2 |/p' <<<"$table") \
	<(sed -n '/^## The commands/,/^`nomora help`/p' "$source_root/README.md" | grep '^| `nomora [a-z-]*` | ')
refuses "an unknown command is refused" 2 "there is no command 'nonsense'" "$nomora" nonsense
run "$nomora"
[ "$code" -eq 2 ] && pass "no command at all is a usage error" || fail "no command at all is a usage error" "exit $code"

# A command that cannot write its output fails.
header=src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at
printf '%s\nh1,h2,10,20,30,0,100,1000\n' $header >"$scratch/mesh.csv"
echo 'p min 1 0' >"$scratch/net.dimacs"
echo '{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "r", "slots": 9}]}' >"$scratch/cluster.json"
for job in $(seq 30); do # more than stdio's buffer holds
	echo "{\"id\": \"job$job\", \"curve\": \"spark\", \"root\": 0, \"tasks\": 5}"
done >"$scratch/jobs.jsonl"
ln -s /dev/full "$scratch/full.svg"
to_full() { "$@" >/dev/full; }
for words in --help --version "mesh show $scratch/mesh.csv" "mesh --help" "mesh export $scratch/mesh.csv" "solve --help" \
	"solve $scratch/net.dimacs --json" "doctor --json" "sweep $source_root/lab/demo.plan --dry-run" \
	"place -c $scratch/cluster.json -j $scratch/jobs.jsonl -C $source_root/curves" \
	"place -c $scratch/cluster.json -j $scratch/jobs.jsonl -C $source_root/curves --json" \
	"place -c $scratch/cluster.json -j $scratch/jobs.jsonl -C $source_root/curves --dump-dimacs /dev/full" \
	"mesh merge $scratch/mesh.csv -o /dev/full" "mesh export $scratch/mesh.csv --json -o /dev/full" \
	"mesh show $scratch/mesh.csv --json" "mesh draw $scratch/mesh.csv -o $scratch/full.svg" \
	"fit $source_root/docs/sweeps/memcached-1.csv --metric queries_per_second --replicates 0 -q -o /dev/full" \
	"fit $source_root/docs/sweeps/memcached-1.csv --metric queries_per_second --replicates 0" \
	"report --latency $scratch/mesh.csv -o /dev/full" \
	"fit $source_root/docs/sweeps/memcached-1.csv --quiet --json --metric queries_per_second"; do
	# shellcheck disable=SC2086
	refuses "a full disk: $words" 1 "error: .*(cannot write (to standard output|[^ ]*full[^ ]*): No space left)" to_full "$nomora" $words
done
# On a full disk, no file is left and the error is reported.
cat >"$scratch/full.plan" <<-END
	injector = $scratch/nobody.sock
	client = true
	metric = value 1 higher exit
	share-machine = yes
END
mkdir "$scratch/disk"
on_full_disk() {
	unshare -m sh -c 'mount -t tmpfs -o size=4k none "$0" && cd "$0" && head -c 4096 /dev/zero >fill && "$@"; code=$?
		[ "$(ls)" = fill ] || { ls -A; code=9; }; exit $code' "$scratch/disk" "$@"
}
if on_full_disk true 2>/dev/null; then
	for words in "sweep $scratch/full.plan -o out.csv" "mesh merge $scratch/mesh.csv -o out.csv" \
		"mesh draw $scratch/mesh.csv -o out.png" "mesh draw $scratch/mesh.csv -o out.svg" \
		"mesh export $scratch/mesh.csv -o out.json" "report --latency $scratch/mesh.csv -o out.html" \
		"fit $source_root/docs/sweeps/memcached-1.csv --metric queries_per_second --replicates 0 -o out.json" \
		"fit $source_root/docs/sweeps/memcached-1.csv --metric queries_per_second --replicates 0 --plot out.svg" \
		"fit $source_root/docs/sweeps/memcached-1.csv --expr 1/(1+x/k) --start k=10 -o out.json" \
		"place -c $scratch/cluster.json -j $scratch/jobs.jsonl -C $source_root/curves --dump-dimacs out.dimacs" \
		"place -c $scratch/cluster.json -j $scratch/jobs.jsonl -C $source_root/curves --draw out.dot"; do
		# shellcheck disable=SC2086
		refuses "no room for a file: ${words%% *} ${words##* }" 1 "error: .*out[^ ]*: (cannot write: )?No space left" on_full_disk "$nomora" $words
	done
else
	skip "no room for a file" "file systems cannot be mounted here"
fi

# For every command, a bad file gives exit code 1, a bad command line gives 2.
cp "$source_root/curves/spark.json" "$scratch/curve.json"
printf 'not an option\n' >"$scratch/bad.config"
printf 'seed = 1\nseed = 2\n' >"$scratch/twice.config"
while IFS='|' read -r words good; do
	# shellcheck disable=SC2086
	for bad in $scratch/empty $scratch /no/such/file; do
		[ "$bad" != "$scratch/empty" ] || : >"$bad"
		refuses "a bad file: ${words//$scratch\//} $(basename "$bad")" 1 "error: .*$bad" "$nomora" $words "$bad" $good
	done
done <<-END
	fit|--quiet
	fit --compare|$scratch/curve.json
	fit --quiet --expr b*x --start b=1|
	solve|
	recover|
	dataflow|
	rtt|
	mesh show|
	mesh merge|
	mesh show $scratch/mesh.csv --cluster|
	inject-check|
	report -o $scratch/page.html --latency|
	report -o $scratch/page.html --curve|
	place -c|-j $scratch/jobs.jsonl -C $source_root/curves
	place -c $scratch/cluster.json -C $source_root/curves -l|-j $scratch/jobs.jsonl
	sweep -o $scratch/no.csv|
END
for command in $commands; do
	case $command in
	inject | reflect | probe) [ -x "$bin/nomora-injector" ] || continue ;;
	esac
	sub=
	case $command in
	lab) sub=status ;;
	mesh) sub=show ;;
	esac
	refuses "$command --config of a bad file" 1 "bad.config:1: expected 'name = value'" "$nomora" "$command" $sub --config "$scratch/bad.config"
	refuses "$command --config of no file" 1 "no-such.config: No such file" "$nomora" "$command" $sub --config "$scratch/no-such.config"
done
refuses "an option twice in a file" 1 'twice.config:2: seed: given in line 1 already' "$nomora" place --config "$scratch/twice.config"

# The suffix of a picture's name selects the format: an unknown one is a usage error, before any file is read.
while IFS='|' read -r words kinds; do
	for name in a.gif svg .svg a.svg.gz -; do
		# shellcheck disable=SC2086
		refuses "no picture: ${words%% -*} $name" 2 "found '$name', expected a name that ends in $kinds" "$nomora" $words $name
	done
done <<-'END'
	mesh draw no-such.csv -o|.svg or .png
	fit no-such.csv --plot|.svg or .png
	fit --compare no-such.json no-such.json --plot|.svg or .png
	place -c no-such.json -j no-such.jsonl -C no-such --draw|.dot or .json
END
printf '%s\n\033]0;title\007,h2,1,1,1,0,1,1\n' $header >"$scratch/escape.csv"
run "$nomora" mesh show "$scratch/escape.csv"
printf '%s' "$err" | grep -q 'escape.csv:2: ' && ! printf '%s' "$err" | grep -q "$(printf '\033')" &&
	pass "what a file holds does not drive the terminal" || fail "what a file holds does not drive the terminal" "$err"
plan
