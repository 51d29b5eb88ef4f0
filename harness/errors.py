"""Errors that end in one line on the terminal. A light module: the command line loads it before anything else."""


class InputError(ValueError):
    """What the user gave cannot be used; the message is one line that says what was given and what is possible."""


class StoreError(Exception):
    """The results folder cannot be written; the message is one line that names the path."""
