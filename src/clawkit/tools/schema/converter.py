"""Owns the way from one Python type to its JSON Schema and to the values that the type takes."""

from __future__ import annotations

from typing import Any

import msgspec

from clawkit.errors import InvalidArgumentsError
from clawkit.tools.schema.annotations import AnnotationReader
from clawkit.tools.schema.casting import Cast, boxed, make_cast, unboxed
from clawkit.tools.schema.definitions import Definitions
from clawkit.tools.schema.problems import Misfit
from clawkit.tools.schema.scope import Scope


class Converter(msgspec.Struct, frozen=True, eq=False):
    """A type that JSON values can be converted to, and its schema. Built once, used often."""

    schema: dict[str, Any]
    _cast: Cast

    def convert(self, value: Any) -> Any:
        """The Python value that a JSON value stands for; raises InvalidArgumentsError."""
        try:
            return unboxed(self._cast, value)
        except Misfit as misfit:
            raise InvalidArgumentsError(misfit.path.lstrip("."), misfit.problem) from None


def converter_for(annotation: Any, *, where: str, scope: Scope | None = None) -> Converter:
    """The converter of a type; raises SchemaError naming `where` and the type.

    `scope` has the names that classes under the type use, beside those of their own modules.
    """
    form = AnnotationReader(scope or Scope({}, {})).read(annotation, where)
    definitions = Definitions()
    (schema,) = definitions.describe([form.careful])
    cast = make_cast(boxed(form.quick), boxed(form.careful), hooked=form.hooked)
    return Converter(definitions.rooted(schema), cast)
