"""Names and types of Python, by what they mean for a proof: what is pure, what is refused, what needs no look."""

from types import (
    DynamicClassAttribute,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import NamedTuple

# Built-in functions and types whose results depend on their arguments alone. Exceptions are allowed too.
PURE_BUILTINS = """
abs all any ascii bin bool bytes callable chr classmethod complex dict divmod enumerate filter float format frozenset
hex int isinstance issubclass iter len list map max min next oct ord pow property range reversed round set slice sorted
staticmethod str sum super tuple zip Ellipsis NotImplemented __name__ __debug__ __build_class__
""".split()  # noqa: SIM905  # as a literal, the words would be hard to read
# By which other code reaches what no name shows.
REFUSED_AROUND_RUNS = ("setattr", "delattr", "globals", "vars", "exec", "eval")
# Modules of Python whose functions and classes keep no state of their own, and the exceptions among these.
PURE_MODULES = """
__future__ abc bisect cmath collections collections.abc dataclasses enum fractions functools itertools math numbers
operator _operator statistics string typing typing_extensions _bisect _collections _functools
""".split()  # noqa: SIM905
IMPURE_NAMES = """
attrgetter methodcaller overload get_overloads clear_overloads singledispatch singledispatchmethod get_args
get_type_hints fields
""".split()  # noqa: SIM905
# Modules that answer differently each time, or reach what a proof cannot see.
REFUSED_MODULES = """
_io _random _thread asyncio builtins contextvars ctypes datetime gc importlib inspect io multiprocessing nt os posix
random secrets select signal socket subprocess sys tempfile threading time uuid weakref numpy.random
npi.cli npi.evaluation npi.network npi.proof npi.training
""".split()  # noqa: SIM905
# Methods that Python generates as text, for a NamedTuple and for a dataclass.
GENERATED = ("new", "init", "repr", "eq", "lt", "le", "gt", "ge", "hash", "setattr", "delattr", "replace")
# Attributes that Python gives to classes. Steps cannot name them.
GIVEN_TO_CLASSES = """
module qualname doc dict weakref annotations slots orig_bases parameters hash match_args dataclass_fields
dataclass_params abstractmethods static_attributes firstlineno type_params classcell annotations_cache annotate
annotate_func slotnames new_member getnewargs
""".split()  # noqa: SIM905
# Attributes of classes that stand for fields of their instances.
DESCRIPTORS = (
    MemberDescriptorType,
    GetSetDescriptorType,
    WrapperDescriptorType,
    MethodDescriptorType,
    type(vars(NamedTuple("_", [("field", int)]))["field"]),
)
METHODS = (property, staticmethod, classmethod, DynamicClassAttribute)
# Types of values that hold nothing else.
PLAIN = (int, float, complex, str, bytes, bool, type(None), type(...), range)
PLAIN_SIZE = type("_", (), {}).__basicsize__  # of an object without anything in C
