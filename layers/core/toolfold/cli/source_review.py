"""``toolfold source review``: show texts that look like instructions to a model, and note which were read."""

from __future__ import annotations

import sys

from toolfold.build.source_folders import find_source, load_source
from toolfold.build.text_review import UnreadText, accept_texts
from toolfold.cli import output, terminal
from toolfold.cli.application import Options
from toolfold.cli.prompts import confirm, is_interactive
from toolfold.errors import SourceError, ToolfoldError
from toolfold.text_safety import escape_unsafe


def run(options: Options) -> int:
    """Print the texts, note those that are accepted, and return 1 where others are left.

    Raises:
        SourceError: the source cannot be read.
        ToolfoldError: a hash is of no text, or the overlay cannot be written.
    """
    source, problems = find_source(options.folder, options.id), list[str]()
    loaded = load_source(source, problems)
    if loaded is None:
        raise SourceError(problems)
    unread = {one.hash: one for one in loaded.unread}
    if wrong := [one for one in options.hashes if one not in unread]:
        raise ToolfoldError(
            f"{source.id} has no text {wrong[0]} to review. See them: toolfold source review {source.id}"
        )
    if not unread:
        print(f"Every text of {source.id} is read: there is nothing to review.")
        return 0
    accepted = set(unread) if options.yes else set(options.hashes)
    is_asked = not accepted and is_interactive()
    for number, (digest, one) in enumerate(unread.items(), 1):
        if digest in accepted or not accepted:
            _print_text(f"{number} of {len(unread)}", one)
        if is_asked and confirm("Accept it?", ""):
            accepted.add(digest)
    if accepted:
        try:
            accept_texts(source.folder, sorted(accepted))
        except OSError as error:
            raise ToolfoldError(f"The overlay of {source.id} cannot be written: {error.strerror}.") from None
        print(f"Accepted {len(accepted)} of {output.counted(len(unread), 'text')}: {source.folder / 'overlay.yaml'}")
        print(f"Next: toolfold catalog compile --folder {options.folder}")
    elif not is_asked:
        print(f"Accept some with their HASH, or all with --yes: toolfold source review {source.id}", file=sys.stderr)
    return 0 if len(accepted) == len(unread) else 1


def _print_text(number: str, one: UnreadText) -> None:
    """Print a text whole, without what would be invisible or act on the terminal."""
    print(f"{number}, {one.hash}: {f'tool {one.tool}' if one.tool else one.field} {one.finding}")
    for line in one.text.strip().split("\n"):
        for part in terminal.wrap(escape_unsafe(line), terminal.width() - 4):
            print(f"    {part}")
    print()
