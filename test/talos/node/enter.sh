#!/bin/bash
# enter.sh COMMAND...: enter the control groups of $CGROUPS and become COMMAND.
set -eu
for directory in $CGROUPS; do
  echo $$ >"$directory/cgroup.procs"
done
exec "$@"
