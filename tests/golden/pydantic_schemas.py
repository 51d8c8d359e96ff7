"""Writes schemas.json: the schemas that zod (from standard input: `node zod_schemas.mjs`) and pydantic 2.14 make of their types."""

import collections
import datetime as dt
import decimal
import enum
import ipaddress
import json
import pathlib
import re
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pydantic as pd
from pydantic import *  # noqa: F403
from typing_extensions import NotRequired, TypedDict


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class IE(enum.IntEnum):
    A = 1
    B = 2


class P(pd.BaseModel):
    x: int
    y: float = 0.0


class Node(pd.BaseModel):
    name: str
    kids: list["Node"] = []


class Cat(pd.BaseModel):
    kind: Literal["cat"]
    meow: int


class Dog(pd.BaseModel):
    kind: Literal["dog"]
    bark: str


class Forbid(pd.BaseModel):
    model_config = pd.ConfigDict(extra="forbid")
    a: int


class Allow(pd.BaseModel):
    model_config = pd.ConfigDict(extra="allow")
    a: int


class TD(TypedDict):
    a: int
    b: NotRequired[str]


class NT(NamedTuple):
    a: int
    b: str


TYPES = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "none": None,
    "any": Any,
    "object": object,
    "bytes": bytes,
    "date": dt.date,
    "datetime": dt.datetime,
    "time": dt.time,
    "timedelta": dt.timedelta,
    "uuid": uuid.UUID,
    "uuid4": UUID4,
    "decimal": decimal.Decimal,
    "decimal_c": Annotated[decimal.Decimal,Field(max_digits=5,decimal_places=2)],
    "decimal_ge": Annotated[decimal.Decimal,Field(ge=0)],
    "path": pathlib.Path,
    "pattern": re.Pattern,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "ipany": IPvAnyAddress,
    "ipv4net": ipaddress.IPv4Network,
    "url": AnyUrl,
    "httpurl": HttpUrl,
    "ws": WebsocketUrl,
    "file": FileUrl,
    "pg": PostgresDsn,
    "secret": SecretStr,
    "json": Json,
    "jsonint": Json[int],
    "bytesize": ByteSize,
    "base64": Base64Str,
    "aware": AwareDatetime,
    "past": PastDate,
    "list": list,
    "listint": list[int],
    "set": set[int],
    "frozenset": frozenset[str],
    "tuple": tuple[int,str],
    "tuplevar": tuple[int,...],
    "dict": dict,
    "dictstr": dict[str,int],
    "dictint": dict[int,str],
    "dictenum": dict[Color,int],
    "dictlit": dict[Literal["a","b"],int],
    "dictuuid": dict[uuid.UUID,int],
    "dictcon": dict[Annotated[str,StringConstraints(pattern="^x")],int],
    "dictmin": dict[Annotated[str,StringConstraints(min_length=2)],int],
    "dictdate": dict[dt.date,int],
    "dictfloat": dict[float,int],
    "dictany": dict[Any,int],
    "dictbool": dict[bool,int],
    "deque": collections.deque[int],
    "counter": collections.Counter,
    "defaultdict": collections.defaultdict[str,list[int]],
    "ordered": collections.OrderedDict[str,int],
    "mapping": Mapping[str,int],
    "seq": Sequence[int],
    "iter": Iterable[int],
    "literal": Literal["a",1,None,True],
    "enum": Color,
    "intenum": IE,
    "optional": Optional[int],
    "union": Union[int,str],
    "unionmodel": Union[Cat,Dog],
    "disc": Annotated[Union[Cat,Dog],Field(discriminator="kind")],
    "conint": conint(gt=0,le=10),
    "multiple": conint(multiple_of=5),
    "confloat": confloat(ge=0,lt=1),
    "gt": confloat(gt=0),
    "constr": constr(min_length=1,max_length=5),
    "regex": constr(pattern=r"^\d{3}$"),
    "strip": constr(strip_whitespace=True),
    "conlist": conlist(int,min_length=1,max_length=3),
    "conset": conset(int,max_length=3),
    "condict": Annotated[dict[str,int],Field(min_length=1,max_length=2)],
    "posint": PositiveInt,
    "nnf": NonNegativeFloat,
    "finite": FiniteFloat,
    "strict": StrictInt,
    "model": P,
    "recursive": Node,
    "forbid": Forbid,
    "allow": Allow,
    "td": TD,
    "nt": NT,
    "listmodel": list[P],
    "dictmodel": dict[str,P],
    "optmodel": Optional[P],
    "nested": dict[str,dict[str,list[Optional[P]]]],
    "unionlist": list[Union[int,list[int]]],
    "annot": Annotated[int,Field(description="d",examples=[1],deprecated=True)],
    "default": create_model("D",a=(int,3),b=(Optional[str],None)),
    "alias": create_model("Al",a=(int,Field(alias="A"))),
    "complex": complex,
}

rows = [json.loads(line) for line in sys.stdin]
seen = set()
for name, kind in TYPES.items():
    for mode in ("validation", "serialization"):
        schema = pd.TypeAdapter(kind).json_schema(mode=mode)
        key = name + json.dumps(schema)
        if key not in seen:
            seen.add(key)
            rows.append({"library": "pydantic", "name": name, "schema": schema})
with open("schemas.json", "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")
