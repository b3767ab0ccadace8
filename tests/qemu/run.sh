#!/bin/sh
# A second kernel: boots Debian's cloud kernel in qemu (software emulation) with an initramfs made
# of the test program and of programs of this system, and runs the tests in there: as root and as
# uid 65534, each with a cgroup v2 directory of its own. One line per user, ok or FAILED with what
# failed; one line per skipped test; the totals at the end. The whole text is in build/qemu.
#
#   run.sh [FILTER...]     these tests; by default the suites that depend on the kernel most, since
#                          emulation makes everything ten times slower
#
#   SBX_QEMU_KERNEL=FILE   a kernel image; default: an installed cloud kernel, else a download
#   SBX_QEMU_APPEND=WORDS  more for the kernel's command line: lsm=capability is one without Landlock
#   SBX_QEMU_SECONDS=N     the most that the emulated machine may take
#   SBX_QEMU_TESTS=DIR     where the test program is; SBX_QEMU_PROFILE=DIR: where it counts, in there
#                          and out here (tests/coverage)
set -u
umask 022 # what is copied has to be readable for the ordinary user inside
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
SECONDS_INSIDE=${SBX_QEMU_SECONDS:-1500}
dir=$BUILD/qemu
root=$dir/root
log=$dir/console.txt

skip() {
    echo "skipped: qemu ($1)"
    exit 0
}

[ "$(uname -m)" = x86_64 ] || skip "needs an x86_64 system"
for tool in qemu-system-x86_64 cpio timeout; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done
tests=${SBX_QEMU_TESTS:-$BUILD/plain}
profile=${SBX_QEMU_PROFILE:-}
[ -x "$tests/tests" ] && [ -x "$tests/child" ] || skip "$tests is not built"
mkdir -p "$dir" || exit 1

FILTERS=${*:-policy.* cgroup.*}

# ==== The kernel ====

# The package is unpacked, not installed: that would make a boot loader want it.
download_kernel() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
        sed -n 's/.*Depends: \(linux-image-[0-9].*-cloud-amd64\).*/\1/p' | head -n 1)
    [ -n "$package" ] || return 1
    rm -rf "$dir/package" && mkdir "$dir/package" || return 1
    (cd "$dir/package" && timeout 120 apt-get -qq download "$package") >/dev/null 2>&1 &&
        dpkg-deb -x "$dir/package/$package"_*.deb "$dir/package" &&
        mv "$dir"/package/boot/vmlinuz-* "$dir/vmlinuz"
    status=$?
    rm -rf "$dir/package"
    return $status
}

kernel=${SBX_QEMU_KERNEL:-}
for file in "$dir/vmlinuz" /boot/vmlinuz-*-cloud-amd64; do
    [ -n "$kernel" ] || [ ! -r "$file" ] || kernel=$file
done
if [ -z "$kernel" ]; then
    download_kernel || skip "linux-image-cloud-amd64 is not installed and cannot be downloaded"
    kernel=$dir/vmlinuz
fi
[ -r "$kernel" ] || skip "no kernel in $kernel"

# ==== What is inside ====

# libraries FILE: those that it wants.
libraries() {
    ldd "$1" 2>/dev/null | sed -n 's/^[^/]*\(\/[^ ]*\).*/\1/p' | while read -r library; do
        [ -e "$root$library" ] && continue
        mkdir -p "$root${library%/*}" && cp -L "$library" "$root$library"
    done
}

# add FILE AS: a program and its libraries.
add() {
    [ -f "$1" ] || return 1
    mkdir -p "$root${2%/*}" && cp -L "$1" "$root$2" && chmod 755 "$root$2" && libraries "$1"
}

rm -rf "$root"
for name in proc sys dev tmp mnt run etc usr/bin usr/sbin usr/lib usr/lib64; do
    mkdir -p "$root/$name" || exit 1
done
for name in bin sbin lib lib64; do ln -s usr/$name "$root/$name"; done

needed="sh cat chown grep ln ls mkdir mount sleep uname"
used="base64 bash chmod cp date dd diff echo env false find git head id ip kill mkfifo mktemp mv
    printf ps readlink rm rmdir sed seq sort stat su tar test touch tr true unshare wc yes"
for name in $needed $used; do
    for place in /bin /usr/bin /sbin /usr/sbin; do
        add "$place/$name" "/bin/$name" && break
    done
done
for name in $needed; do
    [ -e "$root/bin/$name" ] || skip "$name is not in /bin or /usr/bin"
done
[ ! -e "$root/bin/su" ] || chmod 4755 "$root/bin/su"
[ ! -e "$root/bin/git" ] || ln -s git "$root/bin/git-upload-pack" # for git clone

# The system's Python with its library, but without what is large and of no use here.
add_python() {
    library=$(/usr/bin/python3 -I -c 'import sysconfig; print(sysconfig.get_path("stdlib"))') &&
        mkdir -p "$root$library" || return
    (cd "$library" && tar -chf - --exclude=./test --exclude='./config-*' --exclude=./idlelib \
        --exclude=./lib2to3 --exclude=./ensurepip --exclude=./pydoc_data \
        --exclude=./dist-packages --exclude=./site-packages .) | tar -xf - -C "$root$library" &&
        add /usr/bin/python3 /bin/python3 || return
    for file in "$library"/lib-dynload/*.so; do libraries "$file"; done
}
[ ! -x /usr/bin/python3 ] || add_python 2>/dev/null

add "$tests/tests" /tests/tests && add "$tests/child" /tests/child || exit 1
if [ -n "$profile" ]; then
    add /usr/bin/base64 /bin/base64 && mkdir -p "$root$profile" && chmod 1777 "$root$profile" || exit 1
    echo "$profile" >"$root/profile"
fi
file=$(${CC:-cc} -print-file-name=libgcc_s.so.1 2>/dev/null) # pthread_exit loads it
[ ! -f "$file" ] || cp -L "$file" "$root/lib/"
printf 'root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
set -f # the filters are not file names
echo "$FILTERS" >"$root/filters"
set +f

# A delegated group belongs to its user. No process may be in it itself, so the tests sit in a group
# beside those that they make.
cat >"$root/init" <<'INSIDE'
#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
ln -s /proc/self/fd /dev/fd
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo 0 >/proc/sys/kernel/printk
ip link set lo up
ulimit -Hn 65536 # as under an ordinary init; some tests want many descriptors
echo "+memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
for who in root user; do
    mkdir /sys/fs/cgroup/$who
    echo "+memory +pids" >/sys/fs/cgroup/$who/cgroup.subtree_control
    mkdir /sys/fs/cgroup/$who/tests
done
for file in "" /cgroup.procs /cgroup.subtree_control /cgroup.threads /tests /tests/cgroup.procs; do
    chown 65534:65534 /sys/fs/cgroup/user$file
done
echo "@ booted $(uname -r)"
set -f
read -r filters </filters
run() { # NAME UID
    echo "@ user $1"
    (
        echo 0 >/sys/fs/cgroup/$1/tests/cgroup.procs
        export SBX_TEST_CGROUP=/sys/fs/cgroup/$1
        [ $2 = 0 ] || export SBX_TEST_AS_UID=$2
        cd /tmp
        for filter in $filters; do
            echo "@ run $filter"
            /tests/tests "--filter=$filter" </dev/null
            echo "@ end $?"
        done
    ) 2>&1 | cat # no terminal, no colours
    left=$(ls /sys/fs/cgroup/$1 | grep '^sbx-')
    [ -z "$left" ] || echo "@ left" $left
    echo "@ done"
}
run root 0
run user 65534
if [ -f /profile ]; then
    read -r profile </profile
    tar -cf - -C "$profile" . | base64 >/dev/ttyS1
    sleep 2
fi
echo "@ over"
echo o >/proc/sysrq-trigger # power off; it takes a moment
sleep 20
INSIDE
chmod 755 "$root/init"
(cd "$root" && find . | cpio -o -H newc -R 0:0 2>/dev/null) >"$dir/initramfs" || exit 1
rm -rf "$root"

# ==== The machine ====

: >"$log"
timeout -k 5 "$SECONDS_INSIDE" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 \
    -m 1536 -nodefaults -no-reboot -display none -serial "file:$log" -serial "file:$dir/profile" -kernel "$kernel" \
    -initrd "$dir/initramfs" -append "console=ttyS0 quiet panic=-1 oops=panic ${SBX_QEMU_APPEND:-}" </dev/null \
    >"$dir/qemu.txt" 2>&1 &
machine=$!
trap 'kill $machine; exit 130' INT TERM HUP # in the background, so that this is not late
wait $machine
status=$?
trap - INT TERM HUP

# ==== What came out ====

if [ -n "$profile" ]; then
    mkdir -p "$dir/counters" && tr -d '\r' <"$dir/profile" | base64 -d 2>/dev/null | tar -xf - -C "$dir/counters"
    for file in "$dir"/counters/*; do mv "$file" "$profile/qemu-$(basename "$file")"; done
fi

# A result is a line that the test program printed for one test. Whatever is not as it should be is
# a failure more: a program without a summary or with another number in it, a filter without tests,
# a user without an end.
tr -d '\r' <"$log" | awk -v status="$status" -v qemu="$dir/qemu.txt" '
    function wrong(text) { failed++; blocks = blocks "    " text "\n" }
    function close_user() {
        if (user == "") return
        if (!done) {
            wrong("the tests did not come to their end, but only to " run ":")
            blocks = blocks test
        }
        printf "%sLinux %s, %s: %d passed, %d failed, %d skipped\n",
            failed ? "FAILED  " : "ok      ", kernel, user, passed, failed, skipped
        printf "%s%s", blocks, skips
        sum_passed += passed; sum_failed += failed; sum_skipped += skipped
        user = ""
    }
    /^@ booted / { kernel = $3 }
    /^@ user / {
        close_user()
        user = $3; users++; done = passed = failed = skipped = 0; blocks = skips = ""
    }
    /^@ run / { run = $3; results = failures = 0; summary = -1; test = ""; next }
    /^\[ RUN / { test = "" }
    { test = test "    " $0 "\n" }
    /^   Skipped : / { reason = substr($0, 14) }
    /^\[ *OK *\] .*\(/ { passed++; results++ }
    /^\[ *FAILED *\] .*\(/ { failed++; results++; failures++; blocks = blocks test }
    /^\[ *SKIPPED *\] .*\(/ {
        skipped++; results++
        skips = skips "skipped: " user ", " $4 " (" reason ")\n"
    }
    /^\[=*\] [0-9]+ test cases ran/ { summary = $2 }
    /^@ end / {
        if (summary != results || results == 0 || (!failures && $3 != 0)) {
            wrong("the tests " run ": status " $3 ", " results " results; the last lines:")
            blocks = blocks test
        }
    }
    /^@ left / { wrong("left behind: " substr($0, 8)) }
    /^@ done/ { done = 1 }
    /^@ over/ { over = 1 }
    END {
        close_user()
        if (kernel == "" || users < 2 || !over) {
            printf "FAILED  qemu: %s (status %d); the last lines:\n%s",
                kernel == "" ? "the kernel did not come up" : "did not come to its end",
                status, test
            while ((getline line <qemu) > 0) print "    " line
            sum_failed++
        }
        printf "%d passed, %d failed, %d skipped\n", sum_passed, sum_failed, sum_skipped
        exit sum_failed > 0
    }'
