"""Make the catalog that a publisher publishes: refresh the sources, lint them, compile, and check the result.

What does not pass never reaches the bucket.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolfold.build import lint
from toolfold.build.compiler import compile_folder
from toolfold.build.publisher import check_catalog
from toolfold.catalog.allow_list import AllowList, command_of
from toolfold.catalog.model import Catalog
from toolfold.errors import CatalogRejected

Refresh = Callable[[Path], None]
"""Updates the sources in a folder. What it raises ends the publication."""

_PARAMETERS = {"TOOLFOLD_ALLOWED_HOSTS": "AllowedHosts", "TOOLFOLD_KEY_VARIABLES": "KeyVariables"}
"""Setting → the parameter of template.yaml that sets it for the gateway and the publisher."""

_MAX_SHOWN = 3
"""Findings that an error repeats; ``toolfold catalog lint`` prints all of them."""


def prepare_catalog(folder: Path, allow_list: AllowList, refresh: Refresh | None = None) -> bytes:
    """Return the compiled catalog of the sources below ``folder``, which is not changed.

    ``refresh`` is called with a copy of the folder; None: the sources are compiled as they are.

    Raises:
        CatalogRejected: The YAML has errors or findings, or names what is not allowed.
    """
    with refreshed(folder, refresh) as sources:
        findings = [finding for finding in lint.check(sources) if not finding.is_warning]
        if findings:
            shown = "; ".join(str(finding).replace(f"{sources}/", "") for finding in findings[:_MAX_SHOWN])
            more = f"; and {len(findings) - _MAX_SHOWN} more" if len(findings) > _MAX_SHOWN else ""
            raise CatalogRejected(f"The sources have findings: {shown}{more}.", "Run: toolfold catalog lint")
        content = compile_folder(sources).encode()
    check_allowed(check_catalog(content), allow_list)
    return content


@contextmanager
def refreshed(folder: Path, refresh: Refresh | None) -> Iterator[Path]:
    """Yield a folder with the sources of ``folder``, after ``refresh`` has updated them."""
    if refresh is None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="toolfold-sources-") as scratch:
        copy = Path(scratch) / "catalog"
        shutil.copytree(folder, copy)
        refresh(copy)
        yield copy


def check_allowed(catalog: Catalog, allow_list: AllowList) -> None:
    """Check that a gateway with ``allow_list`` would serve ``catalog``.

    Raises:
        CatalogRejected: It would not.
    """
    for source in catalog.sources:
        if command_of(source):
            raise CatalogRejected(
                f"Source {source.id} is a program that is started where toolfold runs (transport: stdio), which a "
                "Lambda function cannot do.",
                "Run the server where it has a URL and use transport: http, or leave its folder out of this catalog.",
            )
    refusal = allow_list.first_refusal(catalog.sources)
    if refusal is not None:
        raise CatalogRejected(
            f"A gateway would refuse this catalog: source {refusal.source_id} names {refusal.what}, {refusal.name}.",
            f"If the gateway allows it, set {refusal.setting}={refusal.entry} here as well"
            f" (of a stack: the parameter {_PARAMETERS[refusal.setting]}).",
        )
