#!/bin/bash
# First process of a machine's namespaces: prepares the mounts that a privileged
# container would get from its engine, then becomes machined.
set -eu

root=$MACHINE_DIR/root
hostname "$MACHINE"

# The root file system starts afresh with every boot, as on metal.
rm -rf "$MACHINE_DIR/upper" "$MACHINE_DIR/work"
mkdir -p "$root" "$MACHINE_DIR/upper/etc" "$MACHINE_DIR/work"
cp "$MACHINE_DIR"/etc/* "$MACHINE_DIR/upper/etc/"
mount -t overlay -o "lowerdir=$ROOTFS,upperdir=$MACHINE_DIR/upper,workdir=$MACHINE_DIR/work" overlay "$root"

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t securityfs securityfs "$root/sys/kernel/security" 2>/dev/null || true

# The cgroup namespace shows the machine's own control groups as the roots.
if [ -z "$V1_CONTROLLERS" ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs -o mode=755 cgroups "$root/sys/fs/cgroup"
  for controller in $V1_CONTROLLERS; do
    mkdir "$root/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "$root/sys/fs/cgroup/$controller"
  done
fi

mount -t tmpfs -o mode=755 dev "$root/dev"
mkdir "$root"/dev/{pts,shm,mqueue}
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs shm "$root/dev/shm"
mount -t mqueue mqueue "$root/dev/mqueue"

for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 kmsg:1:11 fuse:10:229; do
  IFS=: read -r name major minor <<<"$device"
  mknod -m 666 "$root/dev/$name" c "$major" "$minor"
done

ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"

mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=755 system "$root/system"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"

# What outlives a boot.
mkdir -p "$root/system/state"
mount --bind "$MACHINE_DIR/volumes/var" "$root/var"
mount --bind "$MACHINE_DIR/volumes/state" "$root/system/state"
mount --bind "$MACHINE_DIR/volumes/opt" "$root/opt"

# The kernel's boot ID is the host's; each boot of the machine has its own.
mount --bind "$MACHINE_DIR/boot_id" "$root/proc/sys/kernel/random/boot_id"

# What Talos expects in the environment of a container.
export PLATFORM=container TALOSSKU=2CPU-2048RAM
USERDATA=$(cat "$MACHINE_DIR/userdata")
export USERDATA PATH=/usr/bin:/bin:/sbin:/usr/sbin

exec "$PIVOT" "$root" /sbin/init
