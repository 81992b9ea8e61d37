#!/usr/bin/env python3
"""Runs a program as on Linux 4.18 (RHEL 8): usage: old_kernel.py COMMAND [ARGUMENT...]

A seccomp filter answers ENOSYS to all system calls that came with Linux 5.1 and later: the numbers
from 424 on, which are the same on all architectures (pidfd_send_signal, io_uring_*, pidfd_open,
clone3, close_range, openat2, faccessat2, cachestat, mseal, ...), and to statx, which sandboxes older
than it refuse. Options and flags that old kernels lack stay: a filter cannot take them away.

    python3 crates/testkit/old_kernel.py cargo nextest run --workspace

runs a whole suite.
"""

import ctypes
import os
import struct
import sys

FIRST_NEW = 424
STATX = {"x86_64": 332, "aarch64": 291}
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ENOSYS = 38

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NUMBER_AT, ARCH_AT = 0, 4


def instructions(machine):
    """The filter: (code, jump if true, jump if false, operand) of each instruction."""
    return [
        (LOAD, 0, 0, ARCH_AT),
        # Calls of another architecture (32 bits) have other numbers: they are let through.
        (IF_EQUAL, 0, 4, AUDIT_ARCH[machine]),
        (LOAD, 0, 0, NUMBER_AT),
        (IF_EQUAL, 1, 0, STATX[machine]),
        (IF_AT_LEAST, 0, 1, FIRST_NEW),
        (RETURN, 0, 0, FAIL | ENOSYS),
        (RETURN, 0, 0, ALLOW),
    ]


def install():
    filters = b"".join(struct.pack("HBBI", *one) for one in instructions(os.uname().machine))
    buffer = ctypes.create_string_buffer(filters)
    program = struct.pack("HP", len(filters) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)

    def is_set():
        return libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) == 0

    # Without privileges a filter is allowed only to those who can gain none (set-user-ID programs
    # such as fusermount3 fail then).
    if not is_set() and (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or not is_set()):
        sys.exit("cannot install the filter: " + os.strerror(ctypes.get_errno()))


if len(sys.argv) < 2:
    sys.exit(__doc__)
install()
os.execvp(sys.argv[1], sys.argv[1:])
