"""Sign requests to a deployment with ``Access=iam``, as API Gateway verifies them: SigV4 for ``execute-api``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolfold.aws.clients import AwsClients, error_code
from toolfold.client.answers import ClientError

if TYPE_CHECKING:
    import requests

SERVICE = "execute-api"
_HOST = re.compile(rf"[a-z0-9]+\.{SERVICE}\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?")


def region_of_address(url: str) -> str:
    """Return the region in the address of an API of API Gateway; empty for others, such as a domain of one's own.

    >>> region_of_address("https://abc123.execute-api.eu-central-1.amazonaws.com/mcp")
    'eu-central-1'
    """
    found = _HOST.fullmatch(urlsplit(url).hostname or "")
    return found[1] if found else ""


class Signer:
    """Sign requests with the credentials that the AWS tools find. Safe to use from many threads.

    Args:
        region: The region of the deployment.
    """

    def __init__(self, region: str) -> None:
        self.region = region
        self._aws = AwsClients()

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the headers of a signature: what ``auth=`` of the requests library calls before it sends.

        Raises:
            ClientError: There are no credentials, or they are expired and cannot be renewed.
            ModuleNotFoundError: botocore is not installed.
        """
        try:
            from botocore.auth import SigV4Auth
            from botocore.awsrequest import AWSRequest
            from botocore.exceptions import BotoCoreError
            from botocore.exceptions import ClientError as ServiceError
        except ModuleNotFoundError:
            # The command line names the command that installs it here.
            raise ModuleNotFoundError(
                "Signing a request needs botocore: install toolfold with its extra aws.", name="botocore"
            ) from None
        try:
            credentials = self._aws.credentials()
        except (BotoCoreError, ServiceError) as error:
            raise ClientError(
                f"The request has to be signed, and there are no AWS credentials that can be used "
                f"({error_code(error)}): run `aws sso login` or `aws configure`, or set AWS_PROFILE."
            ) from None
        # Proxies may change other headers; SigV4 requires the host and what is named X-Amz, which botocore adds.
        headers = {"Content-Type": request.headers["Content-Type"]} if "Content-Type" in request.headers else {}
        signed = AWSRequest(request.method, request.url, headers, request.body)
        SigV4Auth(credentials, SERVICE, self.region).add_auth(signed)
        request.headers.update(signed.headers.items())
        return request
