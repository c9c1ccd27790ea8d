"""Settings, made from the parameters of a learner and validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Protocol, TypeVar

from widemargin.parameters.values import plain

_Settings = TypeVar("_Settings", bound="_CanBeChecked")


class _CanBeChecked(Protocol):
    """Settings that can be validated."""

    def check(self) -> None:
        """Raise a ValueError unless all settings are valid."""


def settings_from(kind: type[_Settings], params: Mapping[str, Any], **more: Any) -> _Settings:
    """The settings that are among the parameters of a learner, and `more`; they are validated.

    Parameters
    ----------
    kind : type
        A dataclass whose fields are settings, with a method `check`.
    params : dict
        The parameters; those that are not fields of `kind` are left out.
    """
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    given = {name: plain(params[name]) for name in params if name in names}
    settings = kind(**{**given, **more})
    settings.check()
    return settings
