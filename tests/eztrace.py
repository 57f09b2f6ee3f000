# For tests of our plugin under EZTrace: skips where that cannot be, says where the plugins are.
# SPDX-License-Identifier: BSD-3-Clause
import os

from scratch import need, skip

BUILD = os.environ["SCI_BUILD"]
PLUGINS = os.path.join(BUILD, "plugins")

if os.environ.get("SCI_SANITIZED"):
    skip("a sanitized program cannot preload the tracer")
if not os.path.exists(os.path.join(PLUGINS, "libeztrace-posixio.so")):
    skip("built without EZTrace")
need("eztrace", "otf2-print")
