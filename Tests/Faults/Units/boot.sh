#!/bin/sh
# boot.sh SOURCE PROGRAMS: becomes the first process of a machine of its own: this machine's files
# under a layer that is thrown away, with OpCluster installed from the folder SOURCE and the built
# PROGRAMS, and systemd. To be started by unshare, in namespaces for mounts, processes, names,
# communication and the network.
set -e
mount --make-rprivate /
# Of the processes of this machine: programs that are run here look their own threads up.
mount -t proc proc /proc
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
# Nobody has used OpCluster on this machine before, whatever lies in the home below the layer.
rm -rf /mnt/root/root/.config/opcluster /mnt/root/root/.local/state/opcluster /mnt/root/etc/opcluster
"$1/deploy/install" --destdir /mnt/root --bin "$2"
cd /mnt/root
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mkdir -p run/lock old
echo opcluster > etc/hostname
pivot_root . old
cd /
umount -l /old
# What systemd asks for before it believes that it is in a container.
export container=lxc
hierarchy=
[ -e /sys/fs/cgroup/cgroup.controllers ] || hierarchy=systemd.unified_cgroup_hierarchy=0
exec /lib/systemd/systemd --system --unit=multi-user.target --log-target=console $hierarchy
