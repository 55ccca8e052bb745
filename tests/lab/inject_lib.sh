# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests of the injector: hosts a and b with app0 (10.77.0.1 and .2), and between them namespace mid with the
# injector's interfaces inj-a and inj-b.
[ -x "$bin/nomora-injector" ] || skip_all "built without DPDK"
[ "$(id -u)" -eq 0 ] || skip_all "needs root for network namespaces"
here=$(dirname "$0")
prefix=nomora-test-$$
control=$scratch/control.sock
for name in a b mid; do
	ip netns add "$prefix-$name" 2>/dev/null || skip_all "no network namespaces here"
	at_exit ip netns del "$prefix-$name"
	ip netns exec "$prefix-$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
done
address=1
for name in a b; do
	ip -n "$prefix-$name" link add app0 type veth peer name "inj-$name" netns "$prefix-mid"
	ip -n "$prefix-$name" addr add "10.77.0.$address/24" dev app0
	ip -n "$prefix-$name" link set app0 up
	ip -n "$prefix-mid" link set "inj-$name" up
	address=$((address + 1))
done
ports=(inj-a inj-b)
injector_pid=
stop_injector() { [ -z "$injector_pid" ] || kill -TERM "$injector_pid" 2>/dev/null; }
at_exit stop_injector
ready() { "$nomora" inject-ctl "$control" stats || ! kill -0 "$injector_pid"; }
start() {
	ip netns exec "$prefix-mid" "$nomora" inject "${ports[@]}" "$@" --nice 0 --control "$control" 2>"$scratch/log" </dev/null &
	injector_pid=$!
	wait_for 30 ready && kill -0 "$injector_pid" 2>/dev/null
}
stop() {
	"$nomora" inject-ctl "$control" stop >/dev/null
	wait "$injector_pid"
	injector_pid=
}
ask() { "$nomora" inject-ctl "$control" stats --json | python3 -c "import json,sys; o = json.load(sys.stdin); s, t = o['ab'], o['ba']; print($1)"; }
is() { # is NAME EXPECTED FOUND
	[ "$2" = "$3" ] && pass "$1" || fail "$1" "expected $2, found $3" "$("$nomora" inject-ctl "$control" stats --json)" "$(cat "$scratch/log")"
}
