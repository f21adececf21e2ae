"""A server file that has a thread and a child before anybody asks for anything."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from clawkit import SdkMcpServerImpl

server = SdkMcpServerImpl("restless", "1.0.0")
threading.Thread(target=time.sleep, args=(120,), daemon=False).start()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"])
Path(os.environ["RESTLESS_CHILD"]).write_text(str(child.pid))
