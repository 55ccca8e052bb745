#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs, uses and removes the Debian package in a fresh chroot; no file may be left. As root:
#   tests/package/chroot.sh PACKAGE.deb
# (NOMORA_CHROOT=1 ./bootstrap package does it)
set -euo pipefail
deb=$(readlink -f "$1")
root=$(mktemp -d)
trap 'umount -R "$root" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
number=0
check() { # NAME COMMAND...
	local name=$1
	shift
	number=$((number + 1))
	if "$@" >"$root/tmp/log" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		sed 's/^/# /' "$root/tmp/log"
		failed=1
	fi
}
failed=0
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"; }
# Lists files, to find what a package leaves behind: every path except those that dpkg, apt or a running program writes.
snapshot() {
	(cd "$root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o \
		-path ./tmp -o -path ./run -o -path ./proc -o -path ./root \) -prune -o -print | sort)
}

mmdebstrap --quiet --variant=apt --include=man-db,bash-completion,systemd,zsh bookworm "$root" >/dev/null
# A mount of its own, as ip-netns(8) needs; mounts inside it are not visible outside.
mount --bind "$root" "$root"
mount --make-private "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
cp "$deb" "$root/tmp/nomora.deb"
# Dependencies first, so that the snapshots differ only by the package. Some images exclude man pages from installation.
rm -f "$root/etc/dpkg/dpkg.cfg.d/docker" "$root/etc/dpkg/dpkg.cfg.d/excludes"
inside apt-get -qq update
inside apt-get -qq install -y --no-install-recommends /tmp/nomora.deb memcached >/dev/null 2>&1
# Purged, not removed: what systemd remembers of the units goes too.
inside apt-get -qq purge -y nomora >/dev/null 2>&1
before=$(snapshot)
check "apt installs it" inside apt-get -qq install -y --no-install-recommends /tmp/nomora.deb
check "nomora --version" inside nomora --version
check "man nomora-fit" inside sh -c 'man nomora-fit | grep -q "fit a curve to a sweep"'
check "each command has a man page" inside sh -c 'for c in $(nomora --complete | cut -f 1); do man -w nomora-$c || exit 1; done'
# Exit code 3: a busy machine disturbs runs; this test only checks that there is a curve.
check "nomora sweep memcached, by its name, in a virtual rack" inside sh -c 'cd /tmp &&
	nomora sweep memcached -o sweep.csv --delays "0 50 200 500" --repetitions 2 --attempts 2 || test $? -eq 3'
check "nomora fit" inside sh -c 'cd /tmp && nomora fit sweep.csv -o curve.json --plot curve.svg && test -s curve.json -a -s curve.svg'
check "the rack is gone" inside sh -c 'test -z "$(ip netns list)"'
check "bash completion" inside bash -c '. /usr/share/bash-completion/completions/nomora
	COMP_WORDS=(nomora sw) COMP_CWORD=1; _nomora; test "${COMPREPLY[*]}" = sweep'
cp "$(dirname "$0")/complete.zsh" "$root/tmp"
check "zsh completion" inside timeout 20 zsh -f /tmp/complete.zsh /nowhere "nomora swe" "nomora sweep "
for unit in reflect probe inject; do
	check "nomora-$unit@.service" inside sh -c "cd /tmp && cp /lib/systemd/system/nomora-$unit@.service nomora-$unit@eth0.service &&
		! systemd-analyze verify --man=no ./nomora-$unit@eth0.service 2>&1 | grep nomora-$unit"
done
check "apt removes it" inside apt-get -qq purge -y nomora
check "and nothing is left" diff <(echo "$before") <(snapshot)
echo "1..$number"
exit $failed
