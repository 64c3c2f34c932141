"""The Lambda function that publishes the catalog on a schedule."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import toolfold
from toolfold.build.preparation import refresh_sources
from toolfold.build.publisher import CatalogBucket, Run, open_client, publish_unattended
from toolfold.catalog.allow_list import AllowList
from toolfold.settings import Settings
from toolfold.settings.file import apply_settings
from toolfold.telemetry import configure

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

SOURCES = Path(toolfold.__file__).parents[2] / "catalog"
"""The YAML of the sources, in the layer beside ``python/``."""


@functools.cache
def make_publisher(account: str) -> Callable[[], Run]:
    """Return what publishes, for this function, which belongs to ``account``."""
    apply_settings()
    settings = Settings.from_environment()
    telemetry = configure(settings)
    return functools.partial(
        publish_unattended,
        SOURCES,
        CatalogBucket(settings.catalog, open_client("s3"), account),
        AllowList(settings),
        refresh=functools.partial(refresh_sources, process_settings=settings, is_attended=False),
        on_run=lambda run: telemetry.record_publication(run.outcome, run.age_s),
    )


def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Publish, and return what the run did."""
    return make_publisher(context.invoked_function_arn.split(":")[4])()._asdict()
