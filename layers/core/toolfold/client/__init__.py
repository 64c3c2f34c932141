"""The Python client: the meta-tools of an endpoint, or of a process of its own, as methods.

``client`` has the methods and what they return, ``channels`` what carries and signs the messages, ``tool_search``
adapters for the tool search of model APIs.
"""

from toolfold.client.channels import ClientError, find_access
from toolfold.client.client import Answer, AsyncClient, Client
from toolfold.client.tool_search import AnthropicToolSearch, OpenAIToolSearch

__all__ = ["Answer", "AnthropicToolSearch", "AsyncClient", "Client", "ClientError", "OpenAIToolSearch", "find_access"]
