"""Calls as a model may write them before it has read anything: see :mod:`benchmarks.agent.misuse`."""

from benchmarks.agent.probes import calls, listing, selects
from benchmarks.agent.probes.model import Probe

__all__ = ["PROBES", "Probe"]

PROBES = (*listing.PROBES, *calls.PROBES, *selects.PROBES)
