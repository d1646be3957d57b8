"""The exercise runner, tests/exercise.

Read the modules in this order:

- errors     errors that end a command with a sentence
- processes  running other programs, with a time limit and a way to stop them
- blanks     the lines that a reader writes again: blanking them out and filling them in
- book       the chapters, their files and their blanks
- copies     the reader's folder: copies of the chapters, and backups
- progress   what the reader has done, in a file in that folder
- builds     building a chapter's tests and running them
- compiler   the compiler's messages, shortened
- results    Catch2's results, read from XML
- sanitizers the sanitizers' reports, explained
- screen     the terminal: its width, its colours
- keys       keys that are read at once, without Enter
- verdict    a failing test, explained to the reader
- checker    tests a copy and composes the verdict
- session    the objects that every command uses
- starting   the commands that make copies: start, reset, goto
- checking   the commands that test them: check, watch
- comparing  the differences between a copy and the book, in lines of code
- showing    the commands that only show something: list, hint, solution, diff
- command    the command line
- workers    builds in parallel, for tests/try_mutants and tests/try_exercises
"""
