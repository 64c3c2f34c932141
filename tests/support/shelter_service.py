"""A FastAPI application as people write it: models, enums, dependencies, uploads, and a key in a header.

Imported by the tests that run it: importing FastAPI takes long. Without ``from __future__ import annotations``, because
FastAPI reads the annotations of functions.
"""

from enum import StrEnum
from typing import Annotated, Any, Optional

from fastapi import Body, Cookie, Depends, FastAPI, File, Header, HTTPException, Query, UploadFile
from fastapi.security import APIKeyHeader
from pydantic import BaseModel, Field

KEY = "SHELTERKEY012345"


class Kind(StrEnum):
    CAT = "cat"
    DOG = "dog"


class Pet(BaseModel):
    id: int | None = Field(default=None, json_schema_extra={"readOnly": True})
    name: str = Field(min_length=1, description="What it is called.")
    kind: Kind = Kind.CAT
    weight_kg: float | None = Field(default=None, gt=0)
    tags: list[str] = []
    parent: Optional["Pet"] = None


def check_key(given: Annotated[str, Depends(APIKeyHeader(name="X-Shelter-Key"))]) -> None:
    if given != KEY:
        raise HTTPException(401, "wrong key")


def create_app() -> FastAPI:
    """Return an application without animals."""
    app = FastAPI(
        title="Shelter", version="2.1", description="Animals of a shelter.", dependencies=[Depends(check_key)]
    )
    pets: dict[int, Pet] = {}

    @app.post("/pets", status_code=201, tags=["pets"])
    def add_pet(pet: Pet) -> Pet:
        """Add an animal to the shelter."""
        number = len(pets) + 1
        pets[number] = pet.model_copy(update={"id": number})
        return pets[number]

    @app.get("/pets", tags=["pets"])
    def list_pets(
        kind: Kind | None = None,
        tag: Annotated[list[str] | None, Query(description="Only animals with one of these tags.")] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> list[Pet]:
        """List the animals of the shelter."""
        found = [pet for pet in pets.values() if kind in (None, pet.kind) and (not tag or set(tag) & set(pet.tags))]
        return found[:limit]

    @app.get("/pets/{pet_id}", tags=["pets"])
    def get_pet(pet_id: int, x_trace: Annotated[str, Header()] = "", session: Annotated[str, Cookie()] = "") -> Any:
        """Return one animal."""
        if pet_id not in pets:
            raise HTTPException(404, f"there is no animal {pet_id}")
        return {**pets[pet_id].model_dump(), "trace": x_trace, "session": session}

    @app.put("/pets/{pet_id}/photo", tags=["photos"])
    async def upload_photo(pet_id: int, photo: Annotated[UploadFile, File()], caption: Annotated[str, Body()]) -> Any:
        """Upload a photo of an animal."""
        return {"pet": pet_id, "content": (await photo.read()).hex(), "caption": caption}

    @app.delete("/pets/{pet_id}", status_code=204, tags=["pets"])
    def remove_pet(pet_id: int) -> None:
        """Remove an animal for good."""
        del pets[pet_id]

    return app
