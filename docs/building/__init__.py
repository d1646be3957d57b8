"""Makes the HTML book from what Doxygen writes.

Doxygen reads the READMEs and headers through docs/building/filter, and writes plain pages into build/doxygen. From
these, and from the sources, the finished book is put together in build/docs/html. Read the modules in this order:

- site       the pages of the book, their names and their order
- code       C++ in colours, and what two versions of it have in common
- texts      a README as Doxygen's Markdown, line by line
- headers    a header with a namespace around it
- checks     what must hold before anything is built
- formulas   TeX set by KaTeX
- graphs     the data-flow graphs and the map of the book, drawn by Graphviz
- diffs      the pages that show what a chapter changed
- sources    a page for every file of the repository
- pages      what Doxygen wrote, read and refined
- frame      what is around the contents of a page
- searching  the words of all pages
- making     the finished book
- command    the command line
"""
