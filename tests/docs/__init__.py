"""Docs that are run: every page is read as a reader at a terminal would follow it.

In a page's Markdown, all in one fresh folder and in the order of the page:

* ``sh`` blocks are run by one bash (``set -euo pipefail``), so that variables and folders carry over. ``sh exit="1"``
  runs in a subshell that must end with that code. ``sh skip="reason"`` is not run; ``test_pages.py`` counts those.
* A ``text`` block is what the ``sh`` block before it printed, on both channels, line by line: ``…`` stands for any text
  within a line, a line of ``…`` alone for any lines. After a block that is skipped it is not compared.
* ``json file="policies.jsonl"``, in any other language too, is written to that file of the folder where it stands.
* Fences without a language are drawings, never output; right behind commands none is allowed.

A page that runs ``landmark-stream kafka start`` finds the broker of the tests there, with topics of its own.
``reader.py`` says what stands for what. Background processes end with the page.
"""
