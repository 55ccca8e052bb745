#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# apt in a fresh Debian installs from the signed repository, upgrades from it, and refuses it when it was changed. As root:
#   tests/package/repository.sh RELEASE
# (NOMORA_CHROOT=1 ./bootstrap release KEY does it)
set -uo pipefail
release=$(readlink -f "$1")
root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
number=0 failed=0

check() {
	local name=$1
	shift
	number=$((number + 1))
	if "$@" >"$root.log" 2>&1; then echo "ok $number - $name"; else failed=$((failed + 1)) && echo "not ok $number - $name" && sed 's/^/# /' "$root.log" | tail -n 12; fi
	rm -f "$root.log"
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
refused() { ! inside apt-get -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/nomora.list -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0 update ||
	! inside apt-get -qq install -y --reinstall --no-install-recommends nomora; }
renew() { rm -rf "$root/srv/release" && cp -r "$release" "$root/srv/release"; }

mmdebstrap --quiet --variant=apt bookworm "$root" >/dev/null || exit 1
renew
install -D -m 644 "$release/nomora.gpg" "$root/usr/share/keyrings/nomora.gpg"
echo 'deb [signed-by=/usr/share/keyrings/nomora.gpg] file:/srv/release stable main' >"$root/etc/apt/sources.list.d/nomora.list"
check "apt accepts the repository's signature" inside apt-get -qq --error-on=any update
check "apt installs from it" inside apt-get -qq install -y --no-install-recommends nomora
check "the program runs" inside nomora --version
check "it is the repository's package" inside sh -c 'apt-cache policy nomora | grep -q "file:/srv/release stable/main"'
sed -i 's/^Description: /&other /' "$root"/srv/release/dists/stable/main/binary-*/Packages
rm -f "$root"/srv/release/dists/stable/main/binary-*/Packages.gz "$root"/var/lib/apt/lists/_srv_release*
check "a list that was changed is refused" refused
renew
for package in "$root"/srv/release/pool/nomora_*.deb; do printf x >>"$package"; done
inside apt-get -qq update >/dev/null 2>&1
inside sh -c 'apt-get -qq clean'
check "a package that was changed is refused" refused
renew
echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] file:/srv/release stable main' >"$root/etc/apt/sources.list.d/nomora.list"
# shellcheck disable=SC2016
check "another key's signature is refused" sh -c '! chroot "$0" apt-get -qq --error-on=any update' "$root"
echo "1..$number"
[ "$failed" -eq 0 ]
