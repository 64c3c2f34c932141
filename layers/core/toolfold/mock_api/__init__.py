"""Local imitation of the HTTP APIs in a catalog, with deterministic synthetic data and every known error.

Which tools there are, what they take and how their answers look is read from the compiled catalog. The data of Alpha
Vantage agree with each other, because they are computed from the same prices; rows of any other tool are made up by the
names of their columns.
"""

from toolfold.mock_api.responses import Response
from toolfold.mock_api.router import Api
from toolfold.mock_api.server import MockApi

__all__ = ["Api", "MockApi", "Response"]
