"""Reads JSON into frozen dataclasses, strictly: a typo must not quietly become a default.

A field's metadata may say ``low`` and ``high`` (inclusive bounds), ``above``
(exclusive lower bound), ``choices`` and ``doc``. Every fault is reported, not
only the first, each with the path of the key.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from floe_trainer.exits import ConfigError

T = TypeVar("T")


def load(cls: type[T], text: bytes | str, name: str) -> T:
    """Decodes a JSON object into cls, or raises ConfigError with every fault; name says what is read."""
    faults: list[str] = []
    value = decode(cls, parse(text, name), "", faults)
    if faults:
        raise ConfigError(*(f"{name}: {fault}" for fault in faults))
    return typing.cast(T, value)


def parse(text: bytes | str, name: str) -> Any:
    """JSON without its holes: repeated keys, NaN and infinities are refused."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as err:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        raise ConfigError(f"{name}: {err}") from err


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    repeated = sorted({key for key in keys if keys.count(key) > 1})
    if repeated:
        raise ValueError(f"found key {', '.join(repeated)} more than once")
    return dict(pairs)


def _constant(text: str) -> Any:
    raise ValueError(f"found {text}; want a finite number")


def decode(kind: Any, value: Any, path: str, faults: list[str], meta: typing.Mapping[str, Any] | None = None) -> Any:
    """Value as kind; what is wrong with it is added to faults, and then the result has no meaning."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind, value, path, faults)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        inner = next(a for a in arguments if a is not type(None))
        return None if value is None else decode(inner, value, path, faults, meta)
    if origin is tuple:
        return _tuple(arguments[0], value, path, faults)
    want, check = _PLAIN[kind]
    if not check(value):
        faults.append(f"{path}: found {_shown(value)}; want {want}")
        return value
    _bounds(value, path, faults, meta or {})
    return float(value) if kind is float else value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    bool: ("true or false", lambda v: isinstance(v, bool)),
    int: ("a whole number", _is_int),
    # An integer too large for a float, or 1e999, is no finite number.
    float: ("a finite number", lambda v: (_is_int(v) and abs(v) < 1e308) or (isinstance(v, float) and math.isfinite(v))),
    str: ("a string", lambda v: isinstance(v, str)),
}


def _dataclass(kind: type, value: Any, path: str, faults: list[str]) -> Any:
    if not isinstance(value, dict):
        faults.append(f"{path or 'the file'}: found {_shown(value)}; want an object")
        return None
    fields = {f.name: f for f in dataclasses.fields(kind)}
    hints = typing.get_type_hints(kind)
    for key in value:
        if key not in fields:
            faults.append(f"{_join(path, key)}: unknown key{_nearest(key, list(fields))}")
    found: dict[str, Any] = {}
    before = len(faults)
    for name, f in fields.items():
        if name in value:
            found[name] = decode(hints[name], value[name], _join(path, name), faults, f.metadata)
        elif f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            faults.append(f"{_join(path, name)}: missing")
    return kind(**found) if len(faults) == before else None


def _tuple(kind: Any, value: Any, path: str, faults: list[str]) -> Any:
    if not isinstance(value, list):
        faults.append(f"{path}: found {_shown(value)}; want a list")
        return ()
    return tuple(decode(kind, item, f"{path}[{i}]", faults) for i, item in enumerate(value))


def _bounds(value: Any, path: str, faults: list[str], meta: typing.Mapping[str, Any]) -> None:
    if "choices" in meta and value not in meta["choices"]:
        faults.append(f"{path}: found {_shown(value)}; want one of {', '.join(map(str, meta['choices']))}")
    if "above" in meta and not value > meta["above"]:
        faults.append(f"{path}: found {value}; want more than {meta['above']}")
    if "low" in meta and not value >= meta["low"]:
        faults.append(f"{path}: found {_shown(value)}; want {meta['low']} or more")
    if "high" in meta and not value <= meta["high"]:
        faults.append(f"{path}: found {value}; want {meta['high']} or less")
    if meta.get("filled") and not value:
        faults.append(f"{path}: found nothing; want {meta['filled']}")


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _nearest(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; want one of {', '.join(known)}"
