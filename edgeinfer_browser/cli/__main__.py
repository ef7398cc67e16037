"""``python -m edgeinfer_browser.cli``: the console script, where it is not on the PATH."""

from edgeinfer_browser.cli import main

raise SystemExit(main())
