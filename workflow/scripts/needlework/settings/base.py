"""The parts that settings are made of: the class of a block, its keys, and the types of their values."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

# On what a key has an effect: needlework.planning.affects explains them.
Affects = Literal["files", "prompts", "answers", "scores", "results", "speed", "place", "nothing"]
# File systems take 255 bytes for a name, and 4,096 for a path.
BYTES_OF_A_NAME, BYTES_OF_A_PATH = 255, 4095
# The errors of our own checks: a condition between keys; a value that is none of the known ones; a path; a
# list with a value twice; a key of other kinds.
CONDITION, CHOICE, PATH, TWICE, ELSEWHERE = "condition", "choice", "path", "twice", "elsewhere"
# A choice's name in the place of an error begins so, as no key does.
MARK = "\0"
T = TypeVar("T")


class OfOthers(NamedTuple):
    """A key that only other kinds of a block take: its default, these kinds, and on what it has an effect."""

    default: Any
    kinds: tuple[str, ...]
    affects: str = ""


class Settings(BaseModel):
    """A block of keys. It takes no others, and none of its values can be replaced."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
    # On what its keys have an effect that do not say it themselves.
    affects: ClassVar[Affects | None] = None
    # Keys of other kinds of this block, which may stand here with their defaults.
    elsewhere: ClassVar[Mapping[str, OfOthers]] = {}

    @model_validator(mode="before")
    @classmethod
    def _without_defaults_of_others(cls, given: Any) -> Any:
        if not cls.elsewhere or not isinstance(given, Mapping):
            return given
        for name, value in given.items():
            other = cls.elsewhere.get(name)
            if other and value not in (other.default, {}):
                raise PydanticCustomError(ELSEWHERE, "{key}", {"key": name, "kinds": other.kinds})
        return {name: value for name, value in given.items() if name not in cls.elsewhere}

    @classmethod
    def in_order(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The given keys in the order that they have before the defaults."""
        return given

    def has(self, key: str, with_defaults: bool) -> bool:
        """Whether a key was given, or has a default that counts."""
        field = type(self).model_fields.get(key)
        extra = field.json_schema_extra if field else None
        absent = isinstance(extra, dict) and extra.get("absent") and getattr(self, key) is None
        return not absent and (with_defaults or key in self.model_fields_set)

    @classmethod
    def with_effect(cls, key: str) -> str:
        """On what a key has an effect; "" if nothing says it."""
        if key in cls.elsewhere:
            return cls.elsewhere[key].affects
        field = cls.model_fields.get(key)
        extra = field.json_schema_extra if field else None
        own = extra.get("affects") if isinstance(extra, dict) else None
        return str(own or cls.affects or "")


class BenchmarkSettings(Settings):
    """A benchmark's block of keys."""

    if TYPE_CHECKING:

        @property
        def seed(self) -> int:
            """The run's seed, which `contract.block_of` puts beside the block's keys."""


def key(
    default: Any = ...,
    *,
    affects: Affects | None = None,
    chooses_data: bool = False,
    absent: bool = False,
    description: str | None = None,
    **limits: Any,
) -> Any:
    """A key of a block, which the text below it describes.

    default: a value, or a class or function that makes it. Without one the key is required, or `absent`: None
    where nobody gives it. chooses_data: with another value, the demo's settings of the benchmark do not hold.
    description: of a key that several blocks have. limits: those of pydantic's Field (ge, gt, le and so on).
    """
    extra: dict[str, Any] = {"affects": affects} if affects else {}
    extra |= {"chooses_data": True} if chooses_data else {}
    extra |= {"absent": True} if absent else {}
    if callable(default):
        limits["default_factory"] = default
    else:
        limits["default"] = None if absent else default
    return Field(description=description, json_schema_extra=extra or None, **limits)


def wrong(where: str, said: str) -> PydanticCustomError:
    """The error of a condition between keys: `where` is the key below the block, with what stands behind it.

    said: what is wrong and the remedy, behind the key's name.
    """
    return PydanticCustomError(CONDITION, "{said}", {"where": where, "said": said})


# Texts


class _Path:
    """The path of a file or folder, which may begin with `~/`."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_path, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(core), "path": True}


def _path(given: str) -> str:
    if trouble := bad_path(given):
        raise PydanticCustomError(PATH, "{said}", {"said": trouble})
    return str(Path(given).expanduser()) if given.startswith("~/") else given


def bad_path(path: str) -> str:
    """A description of what no file system accepts in a path; "" if the path is valid."""
    if len(path.encode("utf-8", "replace")) > BYTES_OF_A_PATH:
        return f"a path has at most {BYTES_OF_A_PATH} bytes"
    if any(len(part.encode("utf-8", "replace")) > BYTES_OF_A_NAME for part in path.split("/")):
        return f"the name of a file or folder has at most {BYTES_OF_A_NAME} bytes"
    return ""


# No line breaks and tabs; other control characters are in no value.
ONE_LINE = r"^[^\t\n\r]*$"
# A name or a code; a text that may have several lines, such as a system prompt; a path.
Text = Annotated[str, Field(max_length=200, pattern=ONE_LINE)]
SomeText = Annotated[str, Field(min_length=1, max_length=200, pattern=ONE_LINE)]
Lines = Annotated[str, Field(max_length=50_000)]
SomeLines = Annotated[str, Field(min_length=1, max_length=50_000)]
IS_PATH = _Path()
PathText = Annotated[str, Field(max_length=BYTES_OF_A_PATH, pattern=ONE_LINE), IS_PATH]
SomePath = Annotated[
    str, Field(min_length=1, max_length=BYTES_OF_A_PATH, pattern=ONE_LINE), IS_PATH
]
CODE = "[a-z0-9]{1,35}"
Language = Annotated[str, Field(max_length=200, pattern=f"^{CODE}$")]
# Of a value that is true or false and should be text, such as Norwegian's code.
QUOTED = "YAML reads no, off, yes and on as false and true: put such a text in quotes"


# Choices that are known only where planning asks


class OneOf:
    """One of some values that no type can name; `known` gets what validation was told (its context)."""

    def __init__(self, known: Callable[[Mapping[str, Any]], Collection[Any]], **shown: Any) -> None:
        self.known, self.shown = known, shown

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"enum": list(self.known({})), **self.shown}

    def _check(self, value: Any, info: ValidationInfo) -> Any:
        known = list(self.known(info.context or {}))
        if value not in known:
            raise PydanticCustomError(CHOICE, "is unknown", {"known": known})
        return value


class Named:
    """One of these texts: a Literal whose values come from elsewhere."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = list(names)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.literal_schema(self.names)


# Lists


class _Unique:
    """A list in which no value stands twice."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_unique, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(core), "uniqueItems": True}


def _unique(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len({json.dumps(value, sort_keys=True) for value in values}) < len(values):
        raise PydanticCustomError(TWICE, "has non-unique elements")
    return values


UNIQUE = _Unique()
Several = Annotated[tuple[T, ...], Strict(False)]
AtLeastOne = Annotated[tuple[T, ...], Strict(False), Field(min_length=1)]
Distinct = Annotated[tuple[T, ...], Strict(False), UNIQUE]
DistinctSome = Annotated[tuple[T, ...], Strict(False), Field(min_length=1), UNIQUE]
Pair = Annotated[tuple[T, ...], Strict(False), Field(min_length=2, max_length=2)]
DistinctPair = Annotated[tuple[T, ...], Strict(False), Field(min_length=2, max_length=2), UNIQUE]


# One of several types, or of several kinds of a block


def _type_of(value: Any) -> str:
    names = {bool: "boolean", str: "string", int: "integer", float: "number", type(None): "null"}
    if isinstance(value, Mapping):
        return f"{MARK}object"
    return MARK + (names.get(type(value)) or ("array" if isinstance(value, list | tuple) else ""))


# `Annotated[Annotated[int, INTEGER] | Annotated[Text, STRING], BY_TYPE]` is a number or a text.
BY_TYPE = Discriminator(_type_of)
STRING, INTEGER, NUMBER, BOOLEAN, ARRAY, OBJECT = (
    Tag(MARK + name) for name in ("string", "integer", "number", "boolean", "array", "object")
)


def tagged(value: str) -> Tag:
    """Marks the class of a block with this value of the key of `by`."""
    return Tag(MARK + value)


def by(name: str, same: Mapping[str, str] = MappingProxyType({})) -> Discriminator:
    """Chooses the class of a block by its key of this name; `same` says what counts as another value."""

    def chosen(block: Any) -> str | None:
        value = block.get(name) if isinstance(block, Mapping) else getattr(block, name, None)
        return MARK + same.get(value, value) if isinstance(value, str) else None

    return Discriminator(chosen)
