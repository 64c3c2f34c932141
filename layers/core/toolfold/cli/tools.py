"""The meta-tools of a command."""

from __future__ import annotations

import sys

from toolfold.app import App, build_app
from toolfold.cache.sqlite import check_cache_file
from toolfold.catalog.start_check import check_catalog
from toolfold.execution.audit import check_audit_setting
from toolfold.local_defaults import with_local_defaults
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.settings import Settings


def make_app() -> App:
    """Return the App with the settings of the environment and the defaults of a user's machine."""
    settings = Settings.from_environment()
    check_cache_file(settings)
    check_audit_setting(settings)
    # The ceiling of tokens keeps a model's context small; a person chooses.
    app = build_app(with_local_defaults(settings).replaced(max_tokens_ceiling=sys.maxsize), exposes_all=True)
    check_catalog(settings, app.catalog_store)
    return app


def meta_tools() -> MetaTools:
    """Return the meta-tools of :func:`make_app`."""
    return make_app().server.tools
