"""Virtual environments for the peers, created once in a cache folder outside the repository."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

REQUIREMENTS = {
    "cblearn": ("cblearn==0.4.0", "numpy<2"),
    "torch": ("cblearn==0.4.0", "numpy<2", "torch==2.13.0"),  # cblearn's FORTE, OENN and LORE need it, and so does Adam
}


def cache_folder() -> Path:
    """Return the folder of environments, answers and other files that can be created again."""
    chosen = os.environ.get("CLOSERTHAN_BENCHMARKS")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "closerthan-benchmarks"


def interpreter(name: str) -> Path:
    """Return the Python interpreter of the environment ``name``, which is created if necessary."""
    folder = cache_folder() / f"venv-{name}"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    ready = folder / "ready"
    requirements = "\n".join(REQUIREMENTS[name])
    if not (ready.exists() and ready.read_text(encoding="utf-8") == requirements):
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS[name]]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode:
            raise RuntimeError(f"the environment {name!r} cannot be created: {process.stderr.strip().splitlines()[-1]}")
        ready.write_text(requirements, encoding="utf-8")
    return python
