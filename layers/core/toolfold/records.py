"""What a frozen dataclass gives, without the time that making one takes.

``dataclasses`` imports ``inspect``, and each class with it compiles its methods when it is made: felt at every cold
start. A :class:`Record` reads its annotations and does the rest when it is used. Type checkers see a frozen dataclass.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_: object):
        return lambda decorated: decorated


@dataclass_transform(frozen_default=True)
class Record:
    """A value with the fields that a subclass annotates, in their order; a default is what is assigned to one.

    Equal and hashed by class and values; cannot be changed. Defaults are shared: none may be a value that changes.
    ``_secret`` names fields that ``repr`` hides. A class of records is not derived from another.

    Raises:
        TypeError: a field without a value, or a value without a field.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, Any]] = {}
    _secret: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        cls._defaults = {name: cls.__dict__[name] for name in cls._fields if name in cls.__dict__}

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self._fields
        if not named and len(values) == len(fields):
            self.__dict__.update(zip(fields, values, strict=True))
            return
        given = dict(zip(fields, values, strict=False))
        if len(values) > len(fields) or not given.keys().isdisjoint(named):
            raise TypeError(f"{type(self).__name__} was given a value twice, or too many")
        found = {**self._defaults, **given, **named}
        if len(found) != len(fields) or not found.keys() <= set(fields):
            odd = sorted(set(fields) ^ found.keys())
            raise TypeError(f"{type(self).__name__} lacks, or does not know: {', '.join(odd)}")
        self.__dict__.update(found)

    def but(self, **changes: Any) -> Self:
        """The same with other values for some fields."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in self._fields)))

    def __repr__(self) -> str:
        shown = (f"{name}={self.__dict__[name]!r}" for name in self._fields if name not in self._secret)
        return f"{type(self).__name__}({', '.join(shown)})"
