"""The Python client: the meta-tools of an endpoint, or of a process of its own, as methods.

``client`` and ``async_client`` have the methods, ``channels`` what carries the messages, ``answers`` what is returned,
``tool_search`` adapters for the tool search of model APIs. May import ``errors`` and ``protocol.versions`` alone.
"""

from toolfold.client.answers import Answer
from toolfold.client.async_client import AsyncClient
from toolfold.client.channels import ClientError
from toolfold.client.client import Client
from toolfold.client.tool_search import AnthropicToolSearch, OpenAIToolSearch

__all__ = ["Answer", "AnthropicToolSearch", "AsyncClient", "Client", "ClientError", "OpenAIToolSearch"]
