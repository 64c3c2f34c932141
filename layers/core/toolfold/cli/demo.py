"""``toolfold demo``: from a question to its answer, offline."""

from __future__ import annotations

import argparse


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "demo",
        help='answer "give me aapl price" step by step, offline',
        description="Find the tool for a question, call it, and print each step. Uses the mock API: no network, no "
        "API key, no configuration.",
        epilog="examples:\n  toolfold demo\n  toolfold demo | less\n",
    )
    parser.set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    """Run the demo; return 0, or 1 when a step failed."""
    from toolfold import demo
    from toolfold.cli import terminal

    return demo.run(terminal.width())
