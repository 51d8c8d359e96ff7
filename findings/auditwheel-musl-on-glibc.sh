#!/usr/bin/env bash
# auditwheel 6.8.2 cannot show a wheel for musl on a system with glibc and its development files: it takes glibc's libc.so, which is a text
# for the linker, for the library of that name that the wheel needs, and ends with an error about the file's magic number.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v gcc >/dev/null && [ "$(head -c 2 "$(gcc -print-file-name=libc.so)")" = "/*" ] || { echo "needs gcc and glibc's development files" >&2; exit 1; }
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check auditwheel==6.8.2
# A library that needs libc.so, as libraries for musl do.
gcc -shared -nostdlib -Wl,-soname,libc.so -o libc.so -x c - <<<"int answer(void) { return 42; }"
mkdir -p wheel/part wheel/part-1.0.dist-info
gcc -shared -nostdlib -o wheel/part/part.so -x c - -L. -l:libc.so <<<"int answer(void); int twice(void) { return 2 * answer(); }"
tag="py3-none-musllinux_1_2_$(uname -m)"
printf 'Wheel-Version: 1.0\nGenerator: none\nRoot-Is-Purelib: false\nTag: %s\n' "$tag" >wheel/part-1.0.dist-info/WHEEL
printf 'Metadata-Version: 2.1\nName: part\nVersion: 1.0\n' >wheel/part-1.0.dist-info/METADATA
printf '%s,,\n' part/part.so part-1.0.dist-info/{METADATA,RECORD,WHEEL} >wheel/part-1.0.dist-info/RECORD
(cd wheel && python3 -m zipfile -c "../part-1.0-$tag.whl" part part-1.0.dist-info)
readelf --dynamic wheel/part/part.so | grep NEEDED
if error=$(env/bin/auditwheel show "part-1.0-$tag.whl" 2>&1); then
    echo "auditwheel shows the wheel: $error"
    exit 1
fi
echo "auditwheel 6.8.2: $(tail -1 <<<"$error")"
grep --quiet "Magic number does not match" <<<"$error"
