"""Which tool has the value of a parameter, as the names of a source tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.catalogs import compiled
from tests.support.cpu_time import cpu_within
from tests.support.openapi_documents import OK, document
from toolfold.build.inferred_relations import infer_relations
from toolfold.meta_tools.tool_get import tool_get
from toolfold.meta_tools.tool_list import tool_list


def entry(returns: str, *required: str, effect: str = "read", source: str = "shop", **rule: Any) -> dict[str, Any]:
    properties = {name: {"type": "string", **rule} for name in required}
    return {
        "source": source,
        "effect": effect,
        "returns": returns,
        "parameters": {"type": "object", "properties": properties, "required": list(required)},
    }


PETS = entry("rows: id,name,status")


@pytest.mark.parametrize(
    ("others", "wanted", "tool"),
    [
        ({"list_pets": PETS}, "list_pets", entry("name", "pet_id")),
        ({"ListPets": PETS}, "ListPets", entry("", "petID", effect="destructive")),
        ({"shop__get_pets": entry("rows: petId")}, "shop__get_pets", entry("", "petId")),
        ({"list_pets": PETS}, "list_pets", entry("", "pet_name")),
        # It requires what is required here as well.
        ({"list_shop_pets": entry("rows: id", "shop_id")}, "list_shop_pets", entry("", "shop_id", "pet_id")),
        # The one that requires least, and then the one with the shortest name.
        ({"list_pets": PETS, "list_shop_pets": entry("id", "shop_id")}, "list_pets", entry("", "shop_id", "pet_id")),
        ({"list_pets": PETS, "list_lost_pets": PETS}, "list_pets", entry("", "pet_id")),
        # The names do not tell, or two tools are alike.
        ({"list_pets": PETS, "find_pets": PETS}, None, entry("", "pet_id")),
        ({"list_pets": PETS}, None, entry("", "owner_id")),
        ({"list_pets": PETS}, None, entry("", "id")),
        ({"list_pets": PETS}, None, entry("", "pet_colour")),
        ({"list_pets": PETS}, None, entry("", "pet_id", enum=["a", "b"])),
        ({"list_pets": entry("rows: name")}, None, entry("", "pet_id")),
        ({"list_pet_owners": PETS}, None, entry("", "pet_id")),
        ({"list_pets": entry("rows: id", "shop_id")}, None, entry("", "pet_id")),
        ({"get_pet": entry("id", "pet_id")}, None, entry("", "pet_id")),
        ({"create_pet": entry("id", effect="write")}, None, entry("", "pet_id")),
        ({"list_pets": entry("rows: id", source="zoo")}, None, entry("", "pet_id")),
    ],
)
def test_a_tool_that_may_have_the_value_is_found_by_its_name(
    others: dict[str, Any], wanted: str | None, tool: dict[str, Any]
) -> None:
    found = infer_relations({"tool": tool, **others}).get("tool", [])
    assert [to for to, _, _ in found] == ([] if wanted is None else [wanted])
    assert [via for _, _, via in found] == ([] if wanted is None else tool["parameters"]["required"][-1:])


def test_ten_thousand_tools_of_one_noun_take_no_minute() -> None:
    lists = {f"list_users_{number}": entry("rows: id,name") for number in range(5000)}
    users = {f"user_{number}": entry("", "user_id") for number in range(5000)}
    with cpu_within(2):
        assert infer_relations({**lists, **users, "list_users": PETS}).keys() == users.keys()


@pytest.mark.parametrize("infers", [True, False])
def test_tool_get_shows_it_and_a_search_does_not(tmp_path: Path, infers: bool) -> None:
    rows = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}
    listed = {"200": {"description": "OK", "content": {"application/json": {"schema": rows}}}}
    path = {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}
    pets = {"get": {"operationId": "listPets", "summary": "All animals", "responses": listed}}
    pet = {"get": {"operationId": "getPet", "summary": "One of them by number", "parameters": [path], **OK}}
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/openapi.json").write_text(json.dumps(document({"/pets": pets, "/pets/{petId}": pet})))
    described = {"id": "shop", "kind": "openapi", "document": "openapi.json", "infer_relations": infers}
    (tmp_path / "shop/source.yaml").write_text(json.dumps(described))
    catalog = compiled(tmp_path)

    shown = tool_get(catalog, {"tool_name": "shop__getPet"}).structured["tools"][0]
    relation = {"to": "shop__listPets", "kind": "may_need_output_of", "via": "petId"}
    assert shown.get("relations", ()) == ((relation,) if infers else ())
    found = tool_list(catalog, {"query": "one by number"}).structured["tools"]
    assert [one["name"] for one in found] == ["shop__getPet"]
