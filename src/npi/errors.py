"""Errors whose message tells the user what to do."""


class BadInput(ValueError):
    """An argument, option or file that cannot be used; the message says which, why, and what to do."""


class NotProvable(BadInput):
    """A task that npi cannot try to prove; the message says why, and what to do."""


class NotLearned(Exception):
    """`teach` ended with frames still wrong; nothing was written.

    programs       the programs that were to be learned
    frames, wrong  how many frames there were, and how many are decided wrongly
    updates        how many updates were made
    """

    def __init__(self, message: str, programs: tuple[str, ...], frames: int, wrong: int, updates: int):
        super().__init__(message)
        self.programs, self.frames, self.wrong, self.updates = programs, frames, wrong, updates
