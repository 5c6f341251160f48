"""A page as one HTML file that needs nothing else: styles and charts inside, light and dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from dropstep.paper.page import SIGNS, Block, Chart, Finding, Items, Mark, Page, Section, Table, Text, Value

CSS = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6470;--line:#dfe3e9;--ground:#fff;--card:#f6f8fa;--link:#0b62a8;
--same:#0a7a50;--near:#8a6100;--far:#b3261e;--paper:#5b6470}
@media (prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#9aa4b1;--line:#333b46;--ground:#0f1318;--card:#161b22;
--link:#6cb6ff;--same:#45c493;--near:#e3b341;--far:#ff8078;--paper:#9aa4b1}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:66rem;margin:0 auto;padding:2.5rem 1.5rem 5rem}
h1{font-size:2.1rem;line-height:1.2;margin:0 0 .8rem;letter-spacing:-.02em}
h2{font-size:1.35rem;margin:3.2rem 0 .8rem;padding-top:1.2rem;border-top:1px solid var(--line);letter-spacing:-.01em}
p,li{max-width:46rem}a{color:var(--link)}code{font:.9em ui-monospace,Menlo,Consolas,monospace;background:var(--card);
padding:.1em .3em;border-radius:4px}
nav{display:flex;flex-wrap:wrap;gap:.4rem .5rem;margin:1.4rem 0 0}
nav a{font-size:.86rem;padding:.15rem .7rem;border:1px solid var(--line);border-radius:1rem;text-decoration:none}
nav a:hover{background:var(--card)}
.wide{overflow-x:auto;margin:1.2rem 0 1.5rem}
table{border-collapse:collapse;font-size:.86rem;line-height:1.35;font-variant-numeric:tabular-nums;min-width:24rem}
caption{text-align:left;font-weight:600;padding:0 0 .5rem;font-size:.92rem}
th{font-weight:600;color:var(--soft);vertical-align:bottom;border-bottom:2px solid var(--line)}
th,td{padding:.32rem .75rem .32rem 0;text-align:right}
th:not(:last-child),td:not(:last-child){padding-right:1.1rem}
td{border-bottom:1px solid var(--line);vertical-align:top}
td:not(.left),th:last-child:not(.left){white-space:nowrap}.left{text-align:left}
tr.next td{border-top:2px solid var(--line)}
caption,td.left:nth-child(2){white-space:nowrap}.summary td.left{white-space:normal}
.summary td.left:last-child,.short td:last-child{white-space:nowrap}
.paper{color:var(--paper);font-style:italic}.same{color:var(--same)}.near{color:var(--near)}.far{color:var(--far)}
.same,.near,.far{font-weight:600}
.summary{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1rem 1.2rem;margin-top:1.6rem}
.summary table{width:100%}.summary tr:last-child td{border-bottom:0}
figure{margin:1.4rem 0}figure svg{width:100%;max-width:54rem;height:auto;border:1px solid var(--line);border-radius:8px;
display:block}
@media print{nav{display:none}h2{break-after:avoid}table,figure{break-inside:avoid}}
"""

WORDS: dict[Mark, str] = {"same": "✓ the same", "near": "≈ close", "far": "≠ differs"}


def html(page: Page) -> str:
    """The page."""
    links = "".join(f'<a href="#{section.name}">{escape(section.title)}</a>' for section in page.sections)
    body = [f"<h1>{escape(page.title)}</h1>", *(_block(block) for block in page.lead)]
    body += [f"<nav>{links}</nav>"]
    if page.findings:
        body.append(_summary(page.findings))
    body += [_section(section) for section in page.sections]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(page.title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _summary(findings: Sequence[Finding]) -> str:
    rows = "".join(
        f'<tr><td class="left">{_inline(f.item)}</td><td class="left paper">{_inline(f.paper)}</td>'
        f'<td class="left">{_inline(f.ours)}</td><td class="left {f.mark}">{WORDS.get(f.mark, "")}</td></tr>'
        for f in findings
    )
    head = '<tr><th class="left"></th><th class="left">paper</th><th class="left">ours</th><th></th></tr>'
    return f'<div class="summary wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'


def _section(section: Section) -> str:
    blocks = "\n".join(_block(block) for block in section.blocks)
    return f'<section id="{section.name}">\n<h2>{escape(section.title)}</h2>\n{blocks}\n</section>'


def _block(block: Block) -> str:
    if isinstance(block, Text):
        return f"<p>{_inline(block.text)}</p>"
    if isinstance(block, Items):
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in block.items) + "</ul>"
    if isinstance(block, Chart):
        return f'<figure aria-label="{escape(block.caption)}">{block.svg}</figure>'
    return _table(block)


def _table(table: Table) -> str:
    """Text to the left, numbers to the right; leading text that repeats the row above is left out."""
    head = "".join(f"<th{_kind(table, i)}>{_inline(text)}</th>" for i, text in enumerate(table.head))
    lines: list[str] = []
    above = [""] * table.left
    for row in table.rows:
        texts = [str(cell) for cell in row[: table.left]]
        same = next((i for i in range(table.left - 1) if texts[i] != above[i]), table.left - 1)
        cells = [_cell("" if i < same else cell, table, i) for i, cell in enumerate(row)]
        begin = '<tr class="next">' if same == 0 and lines and table.left > 1 else "<tr>"
        lines.append(begin + "".join(cells) + "</tr>")
        above = texts
    caption = f"<caption>{_inline(table.caption)}</caption>" if table.caption else ""
    body = "".join(lines)
    short = ' class="short"' if table.text_last else ""
    return f'<div class="wide"><table{short}>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _kind(table: Table, column: int, extra: str = "") -> str:
    names = [name for name in ("left" if table.is_text(column) else "", extra) if name]
    return f' class="{" ".join(names)}"' if names else ""


def _cell(cell: Value | str, table: Table, column: int) -> str:
    if not isinstance(cell, Value):
        return f"<td{_kind(table, column)}>{_inline(cell)}</td>"
    if cell.mark in ("", "paper"):
        return f"<td{_kind(table, column, cell.mark)}>{_inline(cell.text)}</td>"
    sign = f'<span class="{cell.mark}">{SIGNS[cell.mark]}</span>'
    return f"<td{_kind(table, column)}>{_inline(cell.text)}{sign}</td>"


def _inline(text: str) -> str:
    """Markdown's code, bold, italic and links."""
    out = escape(text, quote=False).replace(" %", "\u00a0%")
    out = re.sub(r"`([^`]+)`", r"<code>\1</code>", out)
    out = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", out)
    out = re.sub(r"\*([^*]+)\*", r"<i>\1</i>", out)
    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', out)
