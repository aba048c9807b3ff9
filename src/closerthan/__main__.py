"""``python -m closerthan``, and what ``torchrun -m closerthan`` starts: the command line."""

from closerthan.cli import main

if __name__ == "__main__":
    main()
