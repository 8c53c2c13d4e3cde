"""`python -m tidegate_cosmos` is `tidegate-cosmos`."""

from tidegate_cosmos.cli import main

if __name__ == "__main__":
    main()
