"""Where docs/build begins."""

import os
import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until there is anything to stop
    root = Path(os.path.abspath(__file__)).parent.parent.parent
    sys.path[:1] = [str(root / "docs"), str(root / "common")]
    import entry
    from building.command import main
    entry.run("docs/build", lambda: main(root))
