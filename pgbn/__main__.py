"""``python -m pgbn`` is the command ``pgbn``."""

import sys


def main() -> int:
    """Run the command line; it needs the extra ``pgbn[cli]``."""
    try:
        from pgbn.cli import run_command
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich"):
            raise
        print(f"pgbn: the command needs {error.name}: pip install 'pgbn[cli]'", file=sys.stderr)
        return 1
    return run_command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
