#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Boots a fresh Debian (systemd-nspawn), installs the package, runs every unit, upgrades, purges. As root:
#   tests/package/boot.sh PACKAGE.deb
# (NOMORA_CHROOT=1 ./bootstrap package does it)
set -euo pipefail
deb=$(readlink -f "$1")
root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT

# apt installs what the package depends on before the boot: the container has no network.
mmdebstrap --quiet --variant=apt --include=systemd-sysv,dbus,iproute2,procps,curl,adduser bookworm "$root" >/dev/null
install -D "$deb" "$root/srv/nomora.deb"
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 sh -e <<'EOF' >/dev/null 2>&1
apt-get -qq update
apt-get -qq install -y --no-install-recommends /srv/nomora.deb nats-server
apt-get -qq purge -y nomora
systemctl disable nats-server
useradd -m alice
useradd -m -G adm olga
EOF
install -m 755 "$(dirname "$0")/booted.sh" "$root/srv/booted.sh"
cat >"$root/etc/systemd/system/booted.service" <<'EOF'
[Unit]
Description=The test of the package
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/srv/booted.sh
ExecStopPost=/bin/systemctl poweroff --no-block
StandardOutput=file:/srv/results.tap
StandardError=file:/srv/errors
TimeoutStartSec=240
EOF
mkdir -p "$root/etc/systemd/system/default.target.wants"
ln -s ../booted.service "$root/etc/systemd/system/default.target.wants/booted.service"
timeout 300 systemd-nspawn --quiet --register=no --keep-unit --private-network --bind-ro=/sys/module --capability=CAP_NET_ADMIN,CAP_NET_RAW,CAP_IPC_LOCK \
	--directory "$root" --boot >"$root/console" 2>&1 || true
cat "$root/srv/results.tap"
if ! tail -n 1 "$root/srv/results.tap" | grep -q '^1\.\.'; then
	echo "not ok - the container's test did not end" >&2
	tail -n 30 "$root/console" "$root/srv/errors" >&2
	exit 1
fi
! grep -q '^not ok' "$root/srv/results.tap"
