"""What ends the command with a sentence."""


class Trouble(Exception):
    """The command cannot be carried out; the text is a sentence for the reader."""


class Rotten(Exception):
    """A list of blanks that no longer fits its chapter, or cannot be read."""
