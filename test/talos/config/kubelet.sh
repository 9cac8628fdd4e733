#!/bin/sh
# The kubelet reports the boot id that its own /proc shows, which is the host's.
# Put the one of this boot of the machine over it.
mount -o bind /var/lib/kubelet/boot_id /proc/sys/kernel/random/boot_id
exec /usr/local/bin/kubelet.real "$@"
