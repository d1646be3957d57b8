"""The tests as exercises: what tests/exercise is made of.

Read the modules in this order:

- trouble    what ends the command with a sentence
- processes  running other programs: with a time limit, and so that they can be stopped
- blanks      what a reader writes again; how a copy is blanked and filled
- book       the chapters, their files and their blanks
- copies     the reader's folder: copies of the chapters, and backups
- progress   what the reader has done, in a file in that folder
- trees      building a chapter's tests, and running them
- compiler   what the compiler complains about, in few lines
- results    what Catch2 says, as XML
- sanitizers what their reports mean
- screen     the terminal: its width, its colours
- verdict    what a failing test says, in the reader's words
- judge      tries a copy, and finds the words for what comes of it
- desk       what every command has at hand
- beginning  the commands that make copies: start, reset, goto
- trying     the commands that try them: check, watch
- comparing  what differs between a copy and the book, in lines of code
- showing    the commands that only show something: list, hint, solution, diff
- command    the command line
- workers    many tries side by side, for tests/try_mutants and tests/try_exercises
"""
