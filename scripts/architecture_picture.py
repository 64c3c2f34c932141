"""Draw the architecture on AWS from template.yaml: docs/images/architecture.svg.

python -m scripts.architecture_picture            write the picture
python -m scripts.architecture_picture --check    fail when it is stale

The places of the boxes are chosen by hand; what the boxes say and the arrows between them come from the translated
template: routes of the API, size of the function, what its role allows. Resources of the drawn types without a place
are listed below the picture.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from scripts import measured_tables
from tests.support.resolved_stack import resolve
from tests.support.sam_template import ALL_OPTIONS

PICTURE = Path(__file__).parents[1] / "docs/images/architecture.svg"
WIDTH, HEIGHT = 800, 588
LINE_HEIGHT = 15

Resources = dict[str, Any]
"""Logical ID → resource, as in ``resolve``."""

DRAWN = ("AWS::Lambda::Function", "AWS::S3::Bucket", "AWS::DynamoDB::Table")
SERVICES = {"s3": "S3", "dynamodb": "DynamoDB", "secretsmanager": "Secrets Manager", "ssm": "Parameter Store"}

STYLE = """
    .page { fill: #ffffff } .box { fill: #f6f8fa; stroke: #57606a } .function { fill: #fff3e0; stroke: #b35900 }
    .store { fill: #e8f3ec; stroke: #1a7f37 } .outside { fill: none; stroke: #57606a; stroke-dasharray: 5 4 }
    .arrow { fill: none; stroke: #57606a; stroke-width: 1.5 } .head { fill: #57606a }
    text { font-family: -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 12px; fill: #24292f }
    .name { font-size: 13px; font-weight: 600 } .label { fill: #57606a }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117 } .box { fill: #161b22; stroke: #8b949e } .function { fill: #33240f; stroke: #e0913a }
      .store { fill: #12261a; stroke: #3fb950 } .outside, .arrow { stroke: #8b949e } .head { fill: #8b949e }
      text { fill: #e6edf3 } .label { fill: #9ea7b3 }
    }
"""


@dataclass(frozen=True)
class Box:
    """A box: its place, its name and the lines below."""

    x: int
    y: int
    width: int
    height: int
    kind: str
    name: str
    lines: tuple[str, ...]

    @property
    def middle(self) -> int:
        """The middle of its width."""
        return self.x + self.width // 2


def draw(resources: Resources) -> str:
    """Return the picture of a stack as SVG."""
    boxes = list(_boxes(resources))
    placed = {box.name for box in boxes}
    others = sorted(name for name, one in resources.items() if one["Type"] in DRAWN and name not in placed)
    shapes = [*map(_box, boxes), *_arrows(resources, {box.name: box for box in boxes})]
    if others:
        shapes.append(_text(20, HEIGHT - 10, f"Also: {', '.join(others)}", "label"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img">\n<title>toolfold on AWS</title>\n<style>{STYLE}</style>\n'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path class="head" d="M0 0 L8 4 L0 8 Z"/></marker></defs>\n'
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="8"/>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


def _boxes(resources: Resources) -> Iterator[Box]:
    yield Box(20, 16, 160, 66, "outside", "MCP clients", ("agents, IDEs, chats",))
    yield Box(250, 16, 240, 96, "box", "Api", ("API Gateway HTTP API", *_routes(resources)))
    yield Box(530, 16, 115, 66, "outside", "Issuer", ("optional: of", "access tokens"))
    yield Box(660, 16, 120, 66, "outside", "Sources", ("such as", "Alpha Vantage"))
    yield Box(20, 178, 760, 66, "function", "GatewayFunction", _function(resources, "GatewayFunction"))
    yield Box(20, 316, 148, 100, "store", "CatalogBucket", _bucket(resources, "CatalogBucket"))
    yield Box(176, 316, 138, 100, "store", "CacheTable", _table(resources, "CacheTable"))
    yield Box(322, 316, 148, 100, "store", "OffloadBucket", _bucket(resources, "OffloadBucket"))
    yield Box(478, 316, 142, 100, "store", "Secret", ("optional: the keys", "of the deployment"))
    retention = resources["GatewayLogGroup"]["Properties"]["RetentionInDays"]
    yield Box(628, 316, 152, 100, "store", "GatewayLogGroup", ("log lines, metrics", f"kept {retention} days"))
    yield Box(20, 480, 150, 66, "outside", "Operator", ("toolfold catalog", "publish, rollback"))
    yield Box(240, 480, 200, 66, "outside", "Publisher", ("optional stack: at", "deployment, on a schedule"))
    yield Box(610, 480, 170, 66, "outside", "Monitoring", ("optional stack: alarms", "to SNS, dashboards"))


def _routes(resources: Resources) -> list[str]:
    routes = [one["Properties"] for one in resources.values() if one["Type"] == "AWS::ApiGatewayV2::Route"]
    paths = sorted(route["RouteKey"].partition(" ")[2].replace("{proxy+}", "…") for route in routes)
    return textwrap.wrap(", ".join(paths), 36, break_long_words=False)


def _function(resources: Resources, name: str) -> tuple[str, ...]:
    properties = resources[name]["Properties"]
    [architecture] = properties["Architectures"]
    size = f"{properties['Runtime']}, {architecture}, {properties['MemorySize']} MB, {properties['Timeout']} s"
    return (f"Lambda, {size}", "layers: dependencies, core with the catalog of the build")


def _bucket(resources: Resources, name: str) -> tuple[str, ...]:
    properties = resources[name]["Properties"]
    rules = properties["LifecycleConfiguration"]["Rules"]
    lines = ["S3, versioned" if "VersioningConfiguration" in properties else "S3"]
    days = [rule["ExpirationInDays"] for rule in rules if "ExpirationInDays" in rule]
    lines += [f"deleted after {days[0]} day{'s' * (days[0] != 1)}"] if days else []
    return (*lines, *_reads(resources, name))


def _table(resources: Resources, name: str) -> tuple[str, ...]:
    properties = resources[name]["Properties"]
    billing = "on demand" if properties["BillingMode"] == "PAY_PER_REQUEST" else "provisioned"
    return ("DynamoDB", billing, *_reads(resources, name))


def _reads(resources: Resources, name: str) -> Iterable[str]:
    """Return what the role of the gateway may do with a resource, a line for every two actions."""
    actions = sorted(_actions(resources, name))
    return [", ".join(actions[at : at + 2]) for at in range(0, len(actions), 2)]


def _statements(resources: Resources) -> list[dict[str, Any]]:
    policies = resources["GatewayRole"]["Properties"]["Policies"]
    return [one for policy in policies for one in policy["PolicyDocument"]["Statement"] if one]


def _actions(resources: Resources, name: str) -> set[str]:
    """Return the actions that the role of the function allows on a resource, without their service."""
    found: set[str] = set()
    for statement in _statements(resources):
        arns = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
        if any(arn.partition(".")[0] == name for arn in arns):
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            found.update(action.partition(":")[2] for action in actions)
    return found


def _arrows(resources: Resources, boxes: dict[str, Box]) -> Iterator[str]:
    clients, api, gateway = boxes["MCP clients"], boxes["Api"], boxes["GatewayFunction"]
    yield _line(clients.x + clients.width, 49, api.x, 49)
    yield _text(190, 41, "HTTPS", "label")
    if _is_invoked(resources):
        yield _line(api.middle, api.y + api.height, api.middle, gateway.y)
        yield _text(api.middle + 10, 150, "events", "label")
    for name, label in (("Issuer", "keys"), ("Sources", "one key per call")):
        yield _line(boxes[name].middle, gateway.y, boxes[name].middle, boxes[name].y + boxes[name].height)
        yield _text(boxes[name].middle - 8, 135 if name == "Issuer" else 160, label, "label", end=True)
    for name in ("CatalogBucket", "CacheTable", "OffloadBucket"):
        if actions := _actions(resources, name):
            yield _line(boxes[name].middle, gateway.y + gateway.height, boxes[name].middle, boxes[name].y)
            writes = any(action.startswith(("Put", "Update")) for action in actions)
            yield _text(boxes[name].middle + 8, 285, "reads, writes" if writes else "reads", "label")
    yield from _secret_arrow(resources, gateway, boxes["Secret"])
    logs = boxes["GatewayLogGroup"]
    yield _line(logs.middle, gateway.y + gateway.height, logs.middle, logs.y)
    yield _text(logs.middle + 8, 285, "writes", "label")
    yield _line(logs.middle, logs.y + logs.height, logs.middle, boxes["Monitoring"].y)
    catalog, operator = boxes["CatalogBucket"], boxes["Operator"]
    yield _line(60, operator.y, 60, catalog.y + catalog.height)
    yield _text(68, 466, "writes", "label")
    publisher, below = boxes["Publisher"], catalog.y + catalog.height
    yield _path([(publisher.middle, publisher.y), (publisher.middle, 446), (130, 446), (130, below)])
    yield _text(publisher.middle + 8, 466, "writes", "label")


def _is_invoked(resources: Resources) -> bool:
    """Return whether API Gateway may invoke the function."""
    permissions = [one["Properties"] for one in resources.values() if one["Type"] == "AWS::Lambda::Permission"]
    return any(permission["Principal"] == "apigateway.amazonaws.com" for permission in permissions)


def _secret_arrow(resources: Resources, gateway: Box, secret: Box) -> Iterator[str]:
    for statement in _statements(resources):
        if statement["Resource"] == ALL_OPTIONS["SourceKeys"]:
            services = [SERVICES[action.partition(":")[0]] for action in statement["Action"]]
            yield _line(secret.middle, gateway.y + gateway.height, secret.middle, secret.y)
            yield _text(secret.middle + 8, 285, "reads", "label")
            for number, service in enumerate(services):
                text = f"{service} or" if number < len(services) - 1 else service
                yield _text(secret.x + 10, secret.y + 38 + LINE_HEIGHT * (2 + number), text)


def _box(box: Box) -> str:
    lines = [_text(box.x + 10, box.y + 21, box.name, "name")]
    lines += [_text(box.x + 10, box.y + 39 + LINE_HEIGHT * at, text) for at, text in enumerate(box.lines)]
    place = f'x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}"'
    return "\n".join([f'<rect class="{box.kind}" {place} rx="6"/>', *lines])


def _line(x1: int, y1: int, x2: int, y2: int) -> str:
    return _path([(x1, y1), (x2, y2)])


def _path(points: Sequence[tuple[int, int]]) -> str:
    steps = " L".join(f"{x} {y}" for x, y in points)
    return f'<path class="arrow" d="M{steps}" marker-end="url(#head)"/>'


def _text(x: int, y: int, text: str, kind: str = "", *, end: bool = False) -> str:
    name = f' class="{kind}"' if kind else ""
    anchor = ' text-anchor="end"' if end else ""
    return f'<text{name} x="{x}" y="{y}"{anchor}>{escape(text)}</text>'


def drawn_resources() -> Resources:
    """Return the resources of a stack with everything that is optional."""
    given = {name: value for name, value in ALL_OPTIONS.items() if name != "LogRetentionDays"}
    return dict(resolve(**given)["Resources"])


def main() -> int:
    """Write the picture, or compare it."""
    options = measured_tables.parse_options(__doc__, "--check")
    picture = draw(drawn_resources())
    if not options.check:
        PICTURE.write_text(picture, encoding="utf-8")
    elif PICTURE.read_text(encoding="utf-8") != picture:
        print(f"{PICTURE} is stale. Run: make picture", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
