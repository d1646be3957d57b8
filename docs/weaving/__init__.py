"""Keeps the READMEs in step with the code.

Read the modules in this order:

- book       the chapters, their files, and what a disagreement is
- page       a README: its markers, its blocks, its prose
- regions    named regions of a C++ file
- changes    what one chapter's mechanism changes in the one before
- programs   what the chapters' programs print
- blocks     what stands in each generated block
- numbers    the numbers in the prose
- citations  the tests that the prose names, and the statements that they show
- budgets    how much a chapter may change
- links      where the links lead
- weaver     makes a page's blocks, then checks all the rest
- command    the command line
"""
