"""The Python client: the meta-tools of an endpoint, or of a process of its own, as methods.

``client`` has the methods, ``channels`` what carries and signs the messages, ``answers`` what is returned,
``tool_search`` adapters for the tool search of model APIs.
"""

from toolfold.client.answers import Answer, ClientError
from toolfold.client.channels import find_access
from toolfold.client.client import AsyncClient, Client
from toolfold.client.tool_search import AnthropicToolSearch, OpenAIToolSearch

__all__ = ["Answer", "AnthropicToolSearch", "AsyncClient", "Client", "ClientError", "OpenAIToolSearch", "find_access"]
