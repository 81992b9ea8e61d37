"""`python3 -m garland` is the program itself."""

import os
import sys

from .errors import ProgramMissing
from .program import find

try:
    program = find()
    os.execv(program, [program, *sys.argv[1:]])
except (ProgramMissing, OSError) as error:
    sys.exit(f"error: {error}")
