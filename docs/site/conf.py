"""Settings of `make site`: HTML from the README, the documents, the gallery, the notebooks and the docstrings.

The checkout itself is Sphinx's source folder, so links mean here what they mean in an editor. Notebooks are shown with
the outputs that are stored in them. A page of the site needs neither a server nor a network.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
from collections.abc import Iterator
from html import escape
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from latex2mathml.converter import convert
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

import astraea

logger = logging.getLogger(__name__)
ROOT: Final = Path(__file__).resolve().parents[2]

project = "Astraea"
author = "The Astraea contributors"
copyright = "The Astraea contributors; code MIT, text and figures CC-BY-4.0"
version = release = astraea.__version__

root_doc = "README"
include_patterns = ["*.md", "bench/*.md", "data/LICENSES.md", "docs/**.md", "docs/**.rst", "figures/*.md"]
include_patterns += ["notebooks/**.ipynb", "ops/*.md", "ops/docs/**.md", "ops/notebooks/**.ipynb"]
exclude_patterns = [".*", "ops/tests", "**/.*", "build", "data/raw", "data/cache"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.linkcode", "numpydoc"]

nitpicky = True
# types in signatures: there is no network to ask where other packages are documented, and not all of ours is here
nitpick_ignore_regex = [("py:.*", ".*")]
suppress_warnings = ["toc.not_included"]

nb_execution_mode = "off"
nb_ipywidgets_js = {}
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

default_role = "py:obj"  # a link where the name is on these pages, code where it is not
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False

html_theme = "furo"
pygments_dark_style = "github-dark"  # Furo's own underlines the names of modules, as if they were links
html_title = "Astraea"
html_static_path = ["style.css", str(files("ziamath.fonts") / "STIXTwoMath-Regular.ttf")]
html_css_files = ["style.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it would fetch pages, which browsers forbid without a server
html_show_sphinx = False
html_use_index = False
html_domain_indices = False

CONTENTS: Final = {
    "README": """
```{toctree}
:hidden:
Gallery <figures/README>
Notebooks <docs/site/notebooks>
docs/site/api/index
```

```{toctree}
:hidden:
:glob:
:caption: Documents
docs/*
ops/README
ops/docs/*
ops/docs/live/*
```
""",
    "figures/README": """
```{toctree}
:hidden:
:glob:
[!R]*
```
""",
}
INDEX: Final = {"astraea": "docs/site/api/index", "figures": "figures/README", "notebooks": "docs/site/notebooks"}
LANGUAGES: Final = {
    ".py": "python", ".toml": "toml", ".yml": "yaml", ".md": "md", ".in": "text", ".sbatch": "bash", "": "text",
}  # fmt: skip
REPLAY: Final = "docs/site/replay"
NOT_OURS: Final = ("__pycache__", "raw", "cache")
SOURCE_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<title>{name}</title>
<meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="{top}/_static/pygments.css"><link rel="stylesheet" href="{top}/_static/style.css">
</head>
<body class="source">
<p><a href="{top}/index.html">Astraea</a> / {name}</p>
{body}
</body>
</html>
"""

shown: set[Path] = set()
"""Files and folders that get a page because a page links them."""
copied: set[Path] = set()
"""Files that are linked as they are."""


def add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add the site's contents to pages that are also read outside it."""
    source[0] += CONTENTS.get(docname, "")


def place_of(app: Sphinx, path: Path) -> str | None:
    """Return the place of a file or folder of the project on the site, None if there is none of this name."""
    if not path.is_relative_to(ROOT):
        return None
    name = path.relative_to(ROOT).as_posix()
    for page in (INDEX.get(name), app.env.path2doc(path), f"{name}/index"):
        if page in app.env.found_docs:
            return f"{page}.html"
    if path.is_dir() or (path.is_file() and path.suffix in LANGUAGES):
        shown.add(path)
        return f"{name}/index.html" if path.is_dir() else f"{name}.html"
    if path.is_file():
        copied.add(path)
        return name
    return None


def settle_links(app: Sphinx, doctree: nodes.document) -> None:
    """Make links to files, folders and HTML anchors lead to their places on the site."""
    docname = app.env.docname
    folder = (ROOT / docname).parent
    anchors = {name for raw in doctree.findall(nodes.raw) for name in re.findall(r'<a id="([^"]+)">', raw.astext())}
    slugs = app.env.metadata[docname].setdefault("myst_slugs", {})
    slugs.update({name: (None, name, "") for name in anchors})
    for node in [*doctree.findall(addnodes.download_reference), *doctree.findall(addnodes.pending_xref)]:
        target, domain = node["reftarget"], node.get("refdomain")
        is_page = domain == "doc" and target in app.env.found_docs
        if node["reftype"] != "myst" or is_page or domain not in (None, "", "doc"):
            continue
        path = ROOT / f"{target}.md" if domain == "doc" else (folder / target).resolve()
        if target.lstrip("#") in anchors:
            link = {"refid": target.lstrip("#")}
        elif place := place_of(app, path):
            link = {"refuri": os.path.relpath(place, Path(docname).parent)}
        else:
            continue
        node.replace_self(nodes.reference("", "", *node.children, internal=True, **link))


def describe_pictures(app: Sphinx, doctree: nodes.document) -> None:
    """Describe pictures that a notebook drew by the heading above them."""
    for section in doctree.findall(nodes.section):
        drawn = [
            image
            for image in section.findall(nodes.image)
            if "alt" not in image and next(p for p in parents(image) if isinstance(p, nodes.section)) is section
        ]
        for number, image in enumerate(drawn, 1):
            image["alt"] = section[0].astext() + (f" (picture {number} of {len(drawn)})" if len(drawn) > 1 else "")


def name_sliders(app: Sphinx, doctree: nodes.document) -> None:
    """Say below each cell with a slider that it needs a running notebook."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code" and "interact(" in cell.astext():
            cell += nodes.paragraph("", "In a running notebook there is a slider here: ", nodes.literal("", "make lab"))


def parents(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield the nodes around a node, from the inside out."""
    while node.parent is not None:
        node = node.parent
        yield node


def write_sources(app: Sphinx) -> None:
    """Write a page for each linked file and folder, and for all below."""
    done: set[Path] = set()
    while waiting := shown - done:
        path = waiting.pop()
        done.add(path)
        name = path.relative_to(ROOT).as_posix()
        page = Path(app.outdir, name, "index.html") if path.is_dir() else Path(app.outdir, f"{name}.html")
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.name[0] != "." and p.name not in NOT_OURS)
            places = [(p.name, os.path.relpath(place_of(app, p) or "", name)) for p in inside]
            body = "".join(f'<p><a href="{place}">{escape(inner)}</a></p>' for inner, place in places)
        else:
            text, language = path.read_text(encoding="utf-8"), LANGUAGES[path.suffix]
            body = app.builder.highlighter.highlight_block(text, language, lineanchors="L")
        page.parent.mkdir(parents=True, exist_ok=True)
        text = SOURCE_PAGE.format(name=escape(name), top=os.path.relpath(app.outdir, page.parent), body=body)
        page.write_text(text, encoding="utf-8")


def add_files(app: Sphinx, exception: Exception | None) -> None:
    """Copy linked files that are no pages of Sphinx, the gallery's files, the replay, and the front page."""
    if exception is None:
        write_sources(app)
        figures = {path for path in (ROOT / "figures").iterdir() if path.suffix != ".md"}
        for path in copied | figures | set((ROOT / REPLAY).iterdir()):
            target = Path(app.outdir) / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        shutil.copyfile(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))


def list_replay(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Name the replay, which is no page of Sphinx, in the contents of every page."""
    place = os.path.relpath(f"{REPLAY}/index.html", Path(pagename).parent)
    link = f'<li class="toctree-l1"><a class="reference internal" href="{place}">Replay of a day</a></li>'
    tree = context["furo_navigation_tree"]
    context["furo_navigation_tree"] = re.sub("<ul[^>]*>", lambda found: found[0] + link, tree, count=1)


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return the link from a page in docs/site/api to the lines of the source."""
    value = import_module(info["module"] or "astraea")
    for name in info["fullname"].split("."):
        value = getattr(value, name, None)
    value = inspect.unwrap(getattr(value, "py_func", value))
    try:
        path, line = Path(inspect.getsourcefile(value) or ""), inspect.getsourcelines(value)[1]
    except (TypeError, OSError):  # a value, or one that was made while running
        return None
    if not path.is_relative_to(ROOT):
        return None
    shown.add(path)
    return f"../../../{path.relative_to(ROOT)}.html#L-{line}"


def visit_math(self: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write formulas as MathML, which browsers show by themselves."""
    is_block = isinstance(node, nodes.math_block)
    formula = convert(node.astext(), display="block" if is_block else "inline").replace(r"\_", "_")
    formula = formula.replace("&#x02015;", "&#x0203E;")  # a bar over letters, as wide as they are
    if "\\" in formula:
        logger.warning("what MathML has no word for: %s", node.astext(), location=node)
    self.body.append(f'<div class="math">{formula}</div>' if is_block else formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    app.add_lexer("csv", TextLexer)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("source-read", add_contents)
    app.connect("doctree-read", settle_links, priority=400)  # before Sphinx copies what it would have downloaded
    app.connect("doctree-read", describe_pictures)
    app.connect("doctree-read", name_sliders)
    app.connect("html-page-context", list_replay, priority=900)  # after Furo has made the contents
    app.connect("build-finished", add_files)
