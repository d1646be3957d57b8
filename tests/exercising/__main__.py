"""Where tests/exercise begins."""

import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until there is anything to stop
    root = Path(__file__).resolve().parent.parent.parent
    sys.path[:1] = [str(root / "tests"), str(root / "common")]
    import entry
    from exercising.command import main
    entry.run("tests/exercise", lambda: main(sys.argv[1:], root))
