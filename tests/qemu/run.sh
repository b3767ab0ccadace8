#!/bin/sh
# A second kernel: boots Debian's cloud kernel in qemu (software emulation) with an initramfs made
# of the test program and what it needs from this system, and runs the tests there: as root and as
# uid 65534, each with a delegated cgroup v2. One line per user: ok, FAILED or skipped.
#
#   run.sh [FILTER...]     only these tests; by default those that depend on the kernel most, since
#                          emulation makes everything ten times slower
#
#   SBX_QEMU_KERNEL=FILE   a kernel image to boot instead of downloading one
#   SBX_QEMU_TESTS=FILE    the test program; default build/plain/tests
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
PROGRAM=${SBX_QEMU_TESTS:-$BUILD/plain/tests}
CHILD=$(dirname "$PROGRAM")/child
KERNEL=${SBX_QEMU_KERNEL:-$BUILD/qemu/vmlinuz}
SECONDS_INSIDE=600
dir=$BUILD/qemu
root=$dir/root
log=$dir/console.txt

skip() {
    echo "skipped: qemu ($1)"
    exit 0
}

[ "$(uname -m)" = x86_64 ] || skip "needs an x86_64 system"
for tool in qemu-system-x86_64 cpio gzip; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done
[ -x "$PROGRAM" ] && [ -x "$CHILD" ] || skip "$PROGRAM is not built"
mkdir -p "$dir" || exit 1

# The kernel is unpacked from its package, not installed.
fetch_kernel() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
        sed -n 's/.*Depends: \(linux-image-[0-9].*-cloud-amd64\).*/\1/p' | head -n 1)
    [ -n "$package" ] || return 1
    (cd "$dir" && timeout 120 apt-get -qq download "$package") >/dev/null 2>&1 || return 1
    dpkg-deb --fsys-tarfile "$dir/$package"_*.deb | tar -xf - -C "$dir" ./boot || return 1
    mv "$dir"/boot/vmlinuz-* "$KERNEL" && rm -rf "$dir/boot" "$dir"/*.deb
}
[ -f "$KERNEL" ] || fetch_kernel || skip "no kernel image, and none can be downloaded"

# add FILE [AS]: a file of this system and the libraries it wants.
add() {
    [ -e "$1" ] || return 1
    mkdir -p "$root$(dirname "${2:-$1}")"
    cp -L "$1" "$root${2:-$1}"
    ldd "$1" 2>/dev/null | sed -n 's/^[^/]*\(\/[^ ]*\).*/\1/p' | while read -r library; do
        [ -e "$root$library" ] && continue
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done
}

rm -rf "$root"
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/mnt" "$root/run" "$root/etc" \
    "$root/bin" "$root/usr"
ln -s ../bin "$root/usr/bin"
for name in sh cat sleep mount mkdir chown true false echo test ls ps wc head env kill id tr seq \
    rm touch printf grep sed dd yes uname chmod mktemp mv ln cp stat rmdir mkfifo readlink; do
    path=$(command -v $name 2>/dev/null) || continue
    case $path in /*) ;; *) path=/bin/$name ;; esac
    add "$(readlink -f "$path")" /bin/$name || true
done
for name in sh cat sleep mount mkdir chown; do
    [ -e "$root/bin/$name" ] || skip "$name is missing here"
done
for file in "$(dirname "$PROGRAM")"/*; do # the test program, and its children beside it
    case $file in *.o | *.c | *.txt) continue ;; esac
    [ -f "$file" ] && [ -x "$file" ] && add "$file" "/tests/${file##*/}"
done
add "$PROGRAM" /tests/tests
add "$(${CC:-cc} -print-file-name=libgcc_s.so.1 2>/dev/null)" /lib/libgcc_s.so.1 # pthread_exit's
printf 'root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"

# What runs inside. A delegated group belongs to its user; nobody may be in it itself, so the tests
# sit in a group beside those they make.
cat >"$root/init" <<'INSIDE'
#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo 0 >/proc/sys/kernel/printk
echo "+memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
for who in root user; do
    mkdir -p /sys/fs/cgroup/$who
    echo "+memory +pids" >/sys/fs/cgroup/$who/cgroup.subtree_control
    mkdir /sys/fs/cgroup/$who/tests
done
for file in "" /cgroup.procs /cgroup.subtree_control /cgroup.threads /tests /tests/cgroup.procs; do
    chown 65534:65534 /sys/fs/cgroup/user$file
done
echo "@ booted $(uname -r)"
read -r filters </filters
run() { # NAME GROUP UID
    (
        echo 0 >/sys/fs/cgroup/$2/tests/cgroup.procs
        export SBX_TEST_CGROUP=/sys/fs/cgroup/$2
        [ $3 = 0 ] || export SBX_TEST_AS_UID=$3
        cd /tmp
        for filter in $filters; do
            echo "@ run $1 $filter"
            /tests/tests --enable-mixed-units "--filter=$filter" </dev/null
            echo "@ end $1 $filter $?"
        done
    ) 2>&1 | cat # no terminal, no colours
}
run root root 0
run user user 65534
ls /sys/fs/cgroup/root /sys/fs/cgroup/user | grep sbx- && echo "@ groups are left behind"
echo "@ done"
echo o >/proc/sysrq-trigger
sleep 20
INSIDE
chmod 755 "$root/init"
FILTERS='policy.* cgroup.* tree.a01* tree.a02* tree.a04_fork* tree.a08* tree.a10* tree.a16_four*
    tree.a18* tree.a37_host_ends* tree.a37_host_is_killed_c* tree.a37_host_is_killed_setsid
    tree.a38* tree.a47_ordinary* tree.a47_no_* tree.a47_masked* tree.a47_chroot* tree.call* tree.crashes*
    tree.exit* tree.looks* tree.mounts* tree.place* tree.proc* tree.signals* tree.sigterm*'
echo ${*:-$FILTERS} >"$root/filters"
chmod 755 "$root/tests" "$root/tests/"* "$root"
(cd "$root" && find . | cpio -o -H newc -R 0:0 2>/dev/null | gzip -1) >"$dir/initramfs.gz" || exit 1

timeout -k 5 $SECONDS_INSIDE qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 \
    -m 1536 -nodefaults -no-reboot -display none -serial "file:$log" -kernel "$KERNEL" \
    -initrd "$dir/initramfs.gz" -append 'console=ttyS0 quiet panic=-1 oops=panic' </dev/null \
    >"$dir/qemu.txt" 2>&1
status=$?
tr -d '\r' <"$log" >"$log.txt" && mv "$log.txt" "$log"

failed=0
kernel=$(sed -n 's/^@ booted //p' "$log")
if [ -z "$kernel" ]; then
    echo "FAILED  qemu: the kernel did not come up (status $status)"
    tail -n 20 "$dir/qemu.txt" "$log" | sed 's/^/    /'
    exit 1
fi
awk -v kernel="$kernel" '
    function close_user() {
        if (user == "") return
        line = sprintf("Linux %s, %s: %d passed, %d failed, %d skipped", kernel, user, passed,
            failed, skipped)
        print (wrong || !passed ? "FAILED  " : "ok      ") line
        if (wrong) printf "%s", blocks
        user = ""
    }
    /^@ run / {
        if (user != $3) { close_user(); passed = failed = skipped = wrong = 0; blocks = "" }
        user = $3; open = 1; test = ""
    }
    /^\[ RUN/ { test = "" }
    open { test = test "    " $0 "\n" }
    /^\[ *FAILED *\] [^0-9].*\(/ { blocks = blocks test }
    /^\[ *PASSED *\] [0-9]+ tests/ { passed += $4 }
    /^\[ *SKIPPED *\] [0-9]+ tests/ { skipped += $4 }
    /^\[ *FAILED *\] [0-9]+ tests/ { failed += $4 }
    /^@ end / {
        open = 0
        if ($5 != 0) { wrong = 1; if (blocks == "") blocks = test }
    }
    /^@ groups are left/ { close_user(); print "FAILED  Linux " kernel ": cgroups are left behind" }
    /^@ done/ { done = 1 }
    END {
        close_user()
        if (!done) {
            print "FAILED  Linux " kernel ": did not come to its end in time; it was at"
            printf "%s", test
        }
    }
' "$log" >"$dir/summary.txt"
cat "$dir/summary.txt"
grep -q '^FAILED' "$dir/summary.txt" && failed=1
exit $failed
