"""Measure the first request to each AWS service in fresh processes, against moto's server on this machine.

python -m benchmarks.aws       print the medians of 15 processes each; half a minute

Each figure is the time over an empty interpreter: imports, client, and one request. An unmeasured first process of each
writes the .pyc files.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from benchmarks import harness, timing
from scripts.measured_tables import markdown_table
from tests.support import aws_services

PROCESSES = 15
LIBRARIES = {
    "S3 GetObject, obstore": "import obstore, os; from obstore.store import S3Store\n"
    "obstore.get(S3Store('bench', endpoint=os.environ['AWS_ENDPOINT_URL'], virtual_hosted_style_request=False,"
    " region='us-east-1', client_options={'allow_http': True}), 'a').bytes()",
    "S3 GetObject, boto3": "import boto3; boto3.client('s3').get_object(Bucket='bench', Key='a')['Body'].read()",
    "DynamoDB GetItem, boto3": "import boto3\n"
    "boto3.client('dynamodb').get_item(TableName='bench', Key={'pk': {'S': 'a'}})",
    "DynamoDB GetItem, botocore without boto3": "import botocore.session\n"
    "botocore.session.get_session().create_client('dynamodb').get_item(TableName='bench', Key={'pk': {'S': 'a'}})",
    "Secrets Manager, boto3": "import boto3; boto3.client('secretsmanager').get_secret_value(SecretId='bench')",
    "Secrets Manager, Powertools": "from aws_lambda_powertools.utilities import parameters\n"
    "parameters.get_secret('bench')",
    "import boto3 alone": "import boto3",
    "import requests alone": "import requests",
}
OURS = {
    "catalog pointer: aws.s3": "import obstore; from toolfold.aws import clients, s3\n"
    "bucket = s3.open_bucket('bench', '', timeout_s=5, max_retries=0, aws=clients.AwsClients())\n"
    "obstore.get(bucket, 'a').bytes()",
    "shared cache: cache.dynamodb": "from toolfold.aws.clients import AwsClients\n"
    "from toolfold.cache.dynamodb import DynamoDBStore; DynamoDBStore(AwsClients(), 'bench', '', 5).get('a')",
    "API key: execution.api_keys": "from toolfold.aws.clients import AwsClients\n"
    "from toolfold.execution.api_keys import SecretProvider\n"
    "assert SecretProvider(AwsClients(), 60, 5).get_secret('arn:aws:secretsmanager:us-east-1:1:secret:bench') == 'key'",
    "long response: results.offload": "from toolfold.results.offload import AnswerStore\n"
    "assert AnswerStore('s3://bench/long', 60).save('a' * 400_000, 'csv')",
    "shared cache, then a long response": "from toolfold.aws.clients import AwsClients\n"
    "from toolfold.cache.dynamodb import DynamoDBStore; from toolfold.results.offload import AnswerStore\n"
    "aws = AwsClients(); DynamoDBStore(aws, 'bench', '', 5).get('a')\n"
    "AnswerStore('s3://bench/long', 60, aws=aws).save('a' * 400_000, 'csv')",
}


def measure(_: argparse.Namespace) -> str:
    """Return the table."""
    with aws_services.serving() as endpoint:
        environment = harness.environment(**aws_services.variables(endpoint))
        create_resources(endpoint)
        programs = {
            name: lambda program=program: timing.timed(lambda: harness.run_program(program, env=environment))[1]
            for name, program in {"": "pass", **LIBRARIES, **OURS}.items()
        }
        times = timing.in_turn(programs, range(PROCESSES + 1), warm_up=1)
    empty_ms = statistics.median(times.pop(""))
    rows = [(name, f"{statistics.median(found) - empty_ms:.0f}") for name, found in times.items()]
    return markdown_table(("first request of a process", "ms"), rows)


def create_resources(endpoint: str) -> None:
    """Create the table, bucket, object and secret that the programs read."""
    s3, dynamodb = (aws_services.client(service, endpoint) for service in ("s3", "dynamodb"))
    s3.create_bucket(Bucket="bench")
    s3.put_object(Bucket="bench", Key="a", Body=b"{}")
    aws_services.create_table(dynamodb, "bench")
    aws_services.client("secretsmanager", endpoint).create_secret(Name="bench", SecretString="key")


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "python -m benchmarks.aws", measure))
