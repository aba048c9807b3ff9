"""Time and memory to read a large CSV file of named triplets.

    python -m benchmarks.files                      # 10 million triplets of 1,000 objects
    python -m benchmarks.files --rows 1000000 --without-pyarrow

The file is written to a temporary folder and read in a separate process, so that the peak is that of reading alone.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from reproduction.machine import machine

READ = """
import json, resource, sys, time
if sys.argv[2] == "without":
    sys.modules["pyarrow"] = None
start = time.perf_counter()
from closerthan.files import read_answers
imported = time.perf_counter()
summary = read_answers(sys.argv[1]).summary
done = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({"import_s": imported - start, "read_s": done - imported, "peak_gb": peak / 1e9,
                  "comparisons": summary.n_comparisons, "objects": summary.n_objects}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--objects", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--without-pyarrow", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        write(path, options.rows, options.objects)
        print(f"{machine()}; {path.stat().st_size / 1e6:,.0f} MB of CSV")
        for _ in range(options.repeats):
            command = [sys.executable, "-c", READ, str(path), "without" if options.without_pyarrow else "with"]
            outcome = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(
                f"{outcome['comparisons']:,} comparisons of {outcome['objects']:,} objects: "
                f"{outcome['read_s']:.1f} s (and {outcome['import_s']:.1f} s to import), "
                f"peak {outcome['peak_gb']:.2f} GB"
            )


def write(path: Path, n_rows: int, n_objects: int) -> None:
    from closerthan.datasets import synthetic
    from closerthan.files import write_comparisons

    answers = synthetic(n_objects, 2, n_rows, n_rows, seed=0).train
    names = [f"object_{number:0{len(str(n_objects))}d}" for number in range(n_objects)]
    write_comparisons(type(answers).from_triplets(answers.rows, names=names), path)


if __name__ == "__main__":
    main()
