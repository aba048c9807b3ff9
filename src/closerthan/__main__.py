"""The command line, for ``python -m closerthan`` and ``torchrun -m closerthan``."""

from closerthan.cli import main

if __name__ == "__main__":
    main()
