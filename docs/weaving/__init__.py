"""Keeps the READMEs in step with the code.

Read the modules in this order:

- book       the chapters, their files, and what a disagreement is
- page       a README: its markers, its blocks, its prose
- links      where the links lead
- regions    named regions of a C++ file
- changes    what one chapter's mechanism changes in the one before
- programs   what the chapters' programs print
- blocks     the contents of each generated block
- numbers    the numbers in the prose
- citations  the tests that the prose names, and the statements that they show
- answers    the answers to the exercises
- repetition code that a page shows twice
- revision   what the checks of the book's language leave out for now
- terms      the glossary, and where each term is defined
- words      the words that the book no longer says
- budgets    how much a chapter may change
- weaver     makes a page's blocks, then checks all the rest
- command    the command line
"""
