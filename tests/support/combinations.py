"""Parameters with which each condition of the template holds.

As a program it writes the template with all of them, conditions decided, as JSON. A scanner leaves out resources whose
condition does not hold by default::

    python -m tests.support.combinations > .aws-sam/all.json
"""

from __future__ import annotations

import json
import sys

from tests.support.stack import deciding, translated

KMS_KEY = "arn:aws:kms:us-east-1:123456789012:key/0b1c"
TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"

OPTIONS: dict[str, dict[str, str]] = {
    "Alarms": {"AlarmTopicArn": TOPIC},
    "ApprovalAlarms": {"Approval": "human", "AlarmTopicArn": TOPIC},
    "ApprovalOn": {"Approval": "human"},
    "BudgetSet": {"MonthlyBudgetUsd": "20", "BudgetEmail": "a@example.com"},
    "ConcurrencyReserved": {"ReservedConcurrency": "10"},
    "DashboardsOn": {"Dashboards": "true"},
    "DataHasKmsKey": {"DataKmsKeyArn": KMS_KEY},
    "ExplorerOn": {"Explorer": "read-only"},
    "GradualDeployment": {"DeploymentPreference": "Canary10Percent5Minutes"},
    "HasBoundary": {"PermissionsBoundaryArn": "arn:aws:iam::123456789012:policy/boundary"},
    "InVpc": {"SubnetIds": "subnet-0a1b2c3d,subnet-0a1b2c3e", "SecurityGroupIds": "sg-0a1b2c3d"},
    "KeyInSecret": {
        "AlphaVantageApiKeySecret": "arn:aws:secretsmanager:us-east-1:123456789012:secret:key-Ab12Cd",
        "AnyoneMayUseTheKey": "true",
    },
    "KeySecretHasKmsKey": {
        "AlphaVantageApiKeySecret": "arn:aws:secretsmanager:us-east-1:123456789012:secret:key-Ab12Cd",
        "AnyoneMayUseTheKey": "true",
        "KeySecretKmsKeyArn": KMS_KEY,
    },
    "LogsSampled": {"LogSampleRate": "0.1"},
    "OwnDomain": {
        "DomainName": "mcp.example.com",
        "CertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/0b1c",
    },
    "OwnDomainHasZone": {
        "DomainName": "mcp.example.com",
        "CertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/0b1c",
        "HostedZoneId": "Z0123456789ABC",
    },
    "PublisherAlarms": {"Publisher": "true", "AlarmTopicArn": TOPIC},
    "PublisherOn": {"Publisher": "true"},
    "PublisherScheduled": {"Publisher": "true", "PublishSchedule": "rate(1 day)"},
    "ScriptsOn": {"Extras": "all"},
    "SnapStartOn": {"SnapStart": "true"},
    "SourceKeysHaveKmsKey": {
        "SourceKeys": "arn:aws:secretsmanager:us-east-1:123456789012:secret:sources-Ab12Cd",
        "AnyoneMayUseTheKey": "true",
        "KeySecretKmsKeyArn": KMS_KEY,
    },
    "SourceKeysSet": {
        "SourceKeys": "arn:aws:secretsmanager:us-east-1:123456789012:secret:sources-Ab12Cd",
        "AnyoneMayUseTheKey": "true",
    },
    "SourcesOn": {"Extras": "all"},
    "StaleCatalogAlarmOn": {"Publisher": "true", "PublishSchedule": "rate(1 day)", "AlarmTopicArn": TOPIC},
    "TableLimited": {"TableMaxReadUnits": "50"},
    "TableReadsLimited": {"TableMaxReadUnits": "50", "TableMaxWriteUnits": "50"},
    "TableWritesLimited": {"TableMaxWriteUnits": "50"},
    "TracingActive": {"Tracing": "Active"},
}
"""Condition of the template → parameters with which it holds."""

ALL = {name: value for given in OPTIONS.values() for name, value in given.items()}

if __name__ == "__main__":
    decided = deciding(translated(), ALL).template
    for name, value in ALL.items():
        decided["Parameters"][name]["Default"] = value
    json.dump(decided, sys.stdout, indent=2)
