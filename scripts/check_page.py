"""Start `toolfold ui` of an installation, and read the page with all its files as a browser does.

For `make release`: an installed package must have the built page, and the MCP App beside it.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar
from urllib.parse import urljoin


def main(program: str) -> int:
    """Check the page that ``program``, an installed toolfold, serves."""
    command = [program, "ui", "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = [process.stderr.readline() for _ in range(2)]
            found = re.search(r"http://\S+token=\S+", lines[0])
            if found is None:
                sys.exit(f"{program} ui printed no URL: {''.join(lines)}")
            sizes = read_page(found[0])
        finally:
            process.terminate()
    print(f"the page and {len(sizes) - 1} files: {sum(sizes)} bytes, compressed")
    return 0


def read_page(url: str) -> list[int]:
    """Return the compressed sizes of the page and its files."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    opener.addheaders = [("accept-encoding", "gzip")]
    with opener.open(url) as answer:
        base, content = answer.url, answer.read()
    page = gzip.decompress(content).decode()
    names = re.findall(r'(?:src|href)="(ui/[^"]+)"', page)
    if not any(name.endswith(".js") for name in names):
        sys.exit(f"The page names no script: {page[:200]}")
    sizes = [len(content)]
    for name in names:
        with opener.open(urljoin(base, name)) as answer:
            sizes.append(len(answer.read()))
    for name in ("ui/answer.html", "ui/api/start"):
        with opener.open(urljoin(base, name)) as answer:
            answer.read()
    return sizes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
