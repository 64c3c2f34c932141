"""Skills as the client of the SDK reads them."""

from typing import Any

import pytest

from tests.support.processes import sdk_client
from tests.unit.build.importers.test_skills import written
from tests.unit.protocol.test_skills import FILES, ROOT
from toolfold.build.compiler import compile_folder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("skills")
    path = folder / "catalog.json"
    path.write_text(compile_folder(written(folder / "sources", FILES, binary_files=True)), encoding="utf-8")
    return str(path)


def test_the_sdk_reads_a_skill_as_a_resource(catalog: str) -> None:
    import anyio

    async def steps() -> Any:
        async with sdk_client({"TOOLFOLD_CATALOG": catalog, "TOOLFOLD_CACHE": "off"}) as client:
            resources = (await client.list_resources()).resources
            return resources, (await client.read_resource(f"{ROOT}/SKILL.md")).contents

    resources, (content,) = anyio.run(steps)
    assert len(resources) == len(FILES)
    assert str(content.uri) == f"{ROOT}/SKILL.md"
    assert content.text == FILES["billing/refunds/SKILL.md"]
