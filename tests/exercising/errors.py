"""Errors that end a command with a sentence."""


class CommandError(Exception):
    """The command can't be carried out; the message is a sentence for the reader."""


class StaleList(Exception):
    """A list of blanks that no longer fits its chapter, or cannot be read."""
