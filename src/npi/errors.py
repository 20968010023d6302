"""Errors that a person can act on."""


class BadInput(ValueError):
    """Something a person typed or handed over cannot be used; the message says what, where, and what to do."""


class NotProvable(BadInput):
    """A task that this kind of proof cannot handle; the message says why, and what to do."""
