#!/bin/sh
# make install, and projects that use what it put there, or a copied sbx.h: a plain cc line, C++,
# pkg-config, CMake, Meson. One line per case: ok, FAILED, or skipped with the reason.
set -u
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
CXX=${CXX:-c++}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbx-install.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

verdict() { # NAME STATUS
    if [ "$2" -eq 0 ]; then
        echo "ok      install: $1"
    else
        echo "FAILED  install: $1"
        sed 's/^/    /' "$tmp/log" | tail -n 20
        failed=1
    fi
}

missing() { # TOOL
    command -v "$1" >/dev/null 2>&1 && return 1
    echo "skipped: $1 (not installed)"
}

make -s install BUILD="${BUILD:-build}" DESTDIR="$tmp/root" PREFIX=/opt/sbx >"$tmp/log" 2>&1
verdict 'make install' $?
root=$tmp/root/opt/sbx
cmp sbx.h "$root/include/sbx.h" >"$tmp/log" 2>&1
verdict 'the header' $?
"$root/bin/sbxrun" -- echo hello >"$tmp/log" 2>&1 && grep -qx hello "$tmp/log"
verdict 'sbxrun' $?

# The manual pages know every function, field, constant and option.
page() { tr -d '\\' <"$1"; }
page "$root/share/man/man3/sbx.3" >"$tmp/sbx.3"
sed -n '/^#ifndef SBX_H$/,/^\/\* End of the API/p' sbx.h >"$tmp/api"
grep -o '\bsbx_[a-z_0-9]*' "$tmp/api" | sort -u >"$tmp/names"
grep -o '\bSBX_[A-Z_0-9]*\b' "$tmp/api" | grep -v 'SBX_H\|SBX_API\|SBX__' | sort -u >>"$tmp/names"
[ "$(grep -c . "$tmp/names")" -gt 100 ] &&
    while read -r name; do grep -qw "$name" "$tmp/sbx.3" || echo "not in sbx.3: $name"; done \
        <"$tmp/names" >"$tmp/log" && [ ! -s "$tmp/log" ]
verdict 'sbx.3 has every name of the API' $?
page "$root/share/man/man1/sbxrun.1" >"$tmp/sbxrun.1"
"$root/bin/sbxrun" --help | grep -o -- '--[a-z][a-z-]*' | sort -u | while read -r option; do
    grep -q -- "$option" "$tmp/sbxrun.1" || echo "not in sbxrun.1: $option"
done >"$tmp/log"
[ ! -s "$tmp/log" ]
verdict 'sbxrun.1 has every option' $?
if ! missing man; then
    for name in man3/sbx.3 man1/sbxrun.1; do
        LC_ALL=C MANWIDTH=110 man -l --warnings "$root/share/man/$name" 2>"$tmp/log" >"$tmp/text"
        [ ! -s "$tmp/log" ] && [ "$(grep -c . "$tmp/text")" -gt 40 ]
        verdict "man shows ${name#*/} without a complaint" $?
    done
fi

cat >"$tmp/main.c" <<'END'
#define SBX_IMPLEMENTATION
#include <sbx.h>
#include <stdio.h>

int main(void) {
    const char *argv[] = {"echo", "hello", NULL};
    sbx_config config = {0};
    sbx_result result;
    config.argv = argv;
    sbx_run(&config, &result);
    printf("%s: %s", sbx_verdict_name(result.verdict), result.out.data);
    sbx_free(&result);
    return 0;
}
END
says() { "$@" >"$tmp/log" 2>&1 && grep -qx 'ok: hello' "$tmp/log"; }

mkdir "$tmp/copied" && cp sbx.h "$tmp/copied" && sed 's/<sbx.h>/"sbx.h"/' "$tmp/main.c" >"$tmp/copied/main.c"
(cd "$tmp/copied" && $CC main.c >"$tmp/log" 2>&1) && says "$tmp/copied/a.out"
verdict 'a copied file and a plain cc line' $?
if ! missing "$CXX"; then
    cp "$tmp/copied/main.c" "$tmp/copied/main.cpp"
    (cd "$tmp/copied" && $CXX -o cxx main.cpp >"$tmp/log" 2>&1) && says "$tmp/copied/cxx"
    verdict 'a copied file in C++' $?
fi
if ! missing pkg-config; then
    flags=$(PKG_CONFIG_PATH=$root/share/pkgconfig pkg-config --define-variable=prefix="$root" \
        --cflags sbx 2>"$tmp/log") && $CC $flags -o "$tmp/pc" "$tmp/main.c" >"$tmp/log" 2>&1 && says "$tmp/pc"
    verdict 'pkg-config' $?
fi
if ! missing cmake; then
    mkdir "$tmp/cmake" && cp "$tmp/copied/main.c" "$tmp/copied/sbx.h" "$tmp/cmake"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.10)' 'project(hello C)' \
        'set(CMAKE_C_STANDARD 99)' 'set(CMAKE_C_EXTENSIONS OFF)' 'add_executable(hello main.c)' \
        >"$tmp/cmake/CMakeLists.txt"
    (cmake -S "$tmp/cmake" -B "$tmp/cmake/build" && cmake --build "$tmp/cmake/build") \
        >"$tmp/log" 2>&1 && says "$tmp/cmake/build/hello"
    verdict 'CMake, C99 without extensions' $?
fi
if ! missing meson; then
    mkdir "$tmp/meson" && cp "$tmp/copied/main.c" "$tmp/copied/sbx.h" "$tmp/meson"
    printf '%s\n' "project('hello', 'c', default_options: ['c_std=c99', 'warning_level=3', 'werror=true'])" \
        "executable('hello', 'main.c')" >"$tmp/meson/meson.build"
    (meson setup "$tmp/meson/build" "$tmp/meson" && meson compile -C "$tmp/meson/build") \
        >"$tmp/log" 2>&1 && says "$tmp/meson/build/hello"
    verdict 'Meson, with every warning an error' $?
fi
exit $failed
