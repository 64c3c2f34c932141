"""The Python client: the meta-tools of an endpoint, or of a process of its own, as methods."""

from toolfold.client.channels import ClientError, find_access
from toolfold.client.client import Answer, Client

__all__ = ["Answer", "Client", "ClientError", "find_access"]
