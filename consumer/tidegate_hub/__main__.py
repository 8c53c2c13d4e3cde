"""`python -m tidegate_hub` is `tidegate-hub`."""

from tidegate_hub.cli import main

if __name__ == "__main__":
    main()
