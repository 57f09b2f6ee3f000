"""Commands take options by chance, with any value, without a crash, a hang or a failure that is not said."""
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys

# always the same: ./dev fuzz options has others each time
sys.exit(subprocess.run([sys.executable, os.path.join(os.environ["SCI_SRC"], "tests", "fuzz", "options.py"), "--runs", "150",
                         "--seed", "21"], check=False).returncode)
