#!/bin/bash
# The power supply of one machine: boots it, and boots it again when it reboots.
# While the file "hold" is there, the next boot waits.
set -u

note() { echo "$(date -u +%FT%T.%3NZ) $*"; }

# reboot(2) inside a PID namespace ends its first process by a signal that says
# what was asked for, and with it every other process of the namespace.
REBOOT=$((128 + 1)) # SIGHUP
HALT=$((128 + 2))   # SIGINT

while :; do
  if [ -e "$MACHINE_DIR/hold" ]; then
    note "boot held back"
    while [ -e "$MACHINE_DIR/hold" ]; do sleep 0.1; done
  fi

  cat /proc/sys/kernel/random/uuid >"$MACHINE_DIR/boot_id.new"
  mv "$MACHINE_DIR/boot_id.new" "$MACHINE_DIR/boot_id"
  mkdir -p "$MACHINE_DIR/volumes/var/lib/kubelet"
  cp "$MACHINE_DIR/boot_id" "$MACHINE_DIR/volumes/var/lib/kubelet/boot_id"
  note "boot $(cat "$MACHINE_DIR/boot_id")"

  # In the background, because bash comments on signals in the foreground.
  nsenter --net="$MACHINE_NETNS" \
    unshare --mount --uts --ipc --pid --cgroup --fork --propagation private \
    bash "$RIG_DIR/init.sh" >>"$MACHINE_DIR/console.log" 2>&1 &
  wait $!
  code=$?

  case $code in
    "$REBOOT") note "reboots" ;;
    "$HALT") note "halted"; exit ;;
    *) note "stopped with exit code $code"; exit 1 ;;
  esac
done
