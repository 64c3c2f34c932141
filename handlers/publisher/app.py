"""The Lambda function that publishes the catalog: for CloudFormation at a deployment, and on a schedule.

Everything is made by the first event, not before: a deployment is answered even if a setting is wrong.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import toolfold
from toolfold.build import unattended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_lambda_powertools.utilities.typing import LambdaContext

    from toolfold.build.publisher import OnStep
    from toolfold.build.unattended import UnattendedPublisher

SOURCES = Path(toolfold.__file__).parents[2] / "catalog"
"""The YAML of the sources, in the layer beside ``python/``."""


@functools.cache
def make_publisher(account: str) -> UnattendedPublisher:
    """Return the publisher of this function, which belongs to ``account``."""
    from toolfold.build.catalog_bucket import CatalogBucket, open_client
    from toolfold.build.preparation import refresh_sources
    from toolfold.build.unattended import UnattendedPublisher
    from toolfold.catalog.allow_list import AllowList
    from toolfold.settings import Settings
    from toolfold.settings.file import apply_settings
    from toolfold.telemetry import configure

    apply_settings()
    settings = Settings.from_environment()
    telemetry = configure(settings)
    bucket = CatalogBucket(settings.catalog, open_client("s3"), account)
    return UnattendedPublisher(
        SOURCES,
        bucket,
        AllowList(settings),
        refresh=functools.partial(refresh_sources, process_settings=settings, is_attended=False),
        on_run=lambda run: telemetry.record_publication(run.outcome, run.age_s),
    )


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer an event of CloudFormation; run the schedule for any other."""
    account = context.invoked_function_arn.split(":")[4]
    if not unattended.is_custom_resource(event):
        return make_publisher(account).refresh()._asdict()

    def publish(on_step: OnStep) -> Mapping[str, str]:
        return make_publisher(account).deploy(str(event.get("StackId", "")), on_step)

    return unattended.answer(event, publish, context.get_remaining_time_in_millis() / 1000)
