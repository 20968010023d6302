"""Errors that a person can act on."""


class BadInput(ValueError):
    """Something a person typed or handed over cannot be used; the message says what, where, and what to do."""


class NotProvable(BadInput):
    """A task that this kind of proof cannot handle; the message says why, and what to do."""


class NotLearned(Exception):
    """Teaching ended with frames still wrong; nothing was written.

    programs       the programs that were to be learned
    frames, wrong  how many frames there were, and how many are decided wrongly
    updates        how many updates were made
    """

    def __init__(self, message: str, programs: tuple[str, ...], frames: int, wrong: int, updates: int):
        super().__init__(message)
        self.programs, self.frames, self.wrong, self.updates = programs, frames, wrong, updates
