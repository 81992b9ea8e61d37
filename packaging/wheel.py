"""Packs a directory as a wheel: wheel.py DIRECTORY RECORD WHEEL.

RECORD, the name of the list of files in the wheel, has a digest and a size of each. Equal files make equal bytes: no
time is kept.
"""

import base64
import hashlib
import pathlib
import sys
import zipfile

folder, record, wheel = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
lines = []
with zipfile.ZipFile(wheel, "w") as archive:

    def put(name: str, data: bytes, mode: int) -> None:
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = mode << 16
        archive.writestr(info, data)

    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, data = path.relative_to(folder).as_posix(), path.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        lines.append(f"{name},sha256={digest},{len(data)}\n")
        put(name, data, path.stat().st_mode)
    lines.append(f"{record},,\n")
    put(record, "".join(lines).encode(), 0o100644)
