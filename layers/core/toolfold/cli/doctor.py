"""``toolfold doctor``: check what a call needs, before an agent does."""

from __future__ import annotations

import argparse
import logging
import sys

from toolfold.cli import diagnostics, terminal
from toolfold.cli.diagnostics import Finding
from toolfold.cli.output import print_json
from toolfold.cli.tables import wrap

_MARKS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}

_EXAMPLES = """examples:
  toolfold doctor
  toolfold doctor --offline                             send nothing
  toolfold doctor --json | jq '.[] | select(.status == "problem")'

exit code: 0 no problem, 1 a problem
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "doctor",
        help="check settings, catalog, API key, cache and network",
        description="Check everything that a call needs: settings, catalog, API key, cache, proxy, certificates and "
        "network. One request is sent to the host of each source, without a key.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--offline", action="store_true", help="send nothing")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each request on stderr: way, time, TLS")
    parser.add_argument("--json", action="store_true", help="print a list of {status, subject, text, next_step}")
    parser.set_defaults(run=run, checks_names=False)


def run(options: argparse.Namespace) -> int:
    """Print the findings; return 1 if one is a problem."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # the findings say what the log would
    try:
        findings = _print_findings(options)
    finally:
        logging.disable(disabled)
    return 1 if any(finding.status == "problem" for finding in findings) else 0


def _lines(finding: Finding) -> list[str]:
    """Return the lines of a finding; on a terminal they end between words."""
    beginning = f"{_MARKS[finding.status]} {finding.subject:13} "
    columns = terminal.width() - len(beginning) if terminal.is_terminal(sys.stdout) else sys.maxsize
    texts = [line for text in (finding.text, finding.next_step) if text for line in wrap(text, columns)]
    return [f"{beginning if not number else '':{len(beginning)}}{text}" for number, text in enumerate(texts)]


def _print_findings(options: argparse.Namespace) -> list[Finding]:
    findings = []
    for finding in diagnostics.diagnose(offline=options.offline, verbose=options.verbose):
        findings.append(finding)
        if not options.json:
            print("\n".join(_lines(finding)), flush=True)
    if options.json:
        print_json([finding._asdict() for finding in findings], indent=2)
    return findings
