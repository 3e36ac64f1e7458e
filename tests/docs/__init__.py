"""Docs that are run: every page is followed as by a reader at a terminal.

A page's Markdown is processed in one fresh folder and in the order of the page:

* ``sh`` blocks are run by one bash (``set -euo pipefail``), so variables and folders carry over. ``sh exit="1"`` runs
  in a subshell that must end with that code. ``sh skip="reason"`` is not run; ``test_pages.py`` counts those.
* A ``text`` block is the output of the ``sh`` block before it, on both channels, line by line: ``…`` matches any text
  within a line, and a line with only ``…`` matches any lines. After a skipped block, it is not compared.
* ``json file="policies.jsonl"``, also in any other language, is written to that file of the folder at that point.
* Fences without a language are drawings, never output; none is allowed directly after commands.

A page that runs ``landmark-stream kafka start`` finds the broker of the tests there, with its own topics. ``reader.py``
says what replaces what. Background processes end with the page.
"""
