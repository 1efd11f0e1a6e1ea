"""A table as a workbook (.xlsx) with one sheet: the least of ECMA-376 that spreadsheets open.

Text stands inline in its cell, so nothing in it is run as a formula.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
# A sheet has no more rows; what lies beyond would make the file unreadable as a whole.
MOST_ROWS = 1_048_575
_LONGEST_TEXT = 32_767
# XML 1.0 has no control characters but tab and line ends.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SPACE = "http://schemas.openxmlformats.org"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_RELATIONS = f"{_SPACE}/officeDocument/2006/relationships"
_MAIN = f"{_SPACE}/spreadsheetml/2006/main"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def workbook(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """The file's content; `name` is that of the sheet. At most MOST_ROWS rows are written."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as parts:
        for path, content in _frame(name).items():
            parts.writestr(path, _HEAD + content)
        with parts.open("xl/worksheets/sheet1.xml", "w") as sheet:
            # The first row stays in view.
            sheet.write(
                f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
                '<pane ySplit="1" topLeftCell="A2" state="frozen"/></sheetView></sheetViews>'
                "<sheetData>".encode()
            )
            sheet.write(_row(columns))
            for _, row in zip(range(MOST_ROWS), rows):
                sheet.write(_row(row))
            sheet.write(b"</sheetData></worksheet>")
    return file.getvalue()


def _row(cells: Sequence[object]) -> bytes:
    return f"<row>{''.join(map(_cell, cells))}</row>".encode()


def _cell(content: object) -> str:
    if content is None or content == "":
        return "<c/>"
    if isinstance(content, bool):
        return f'<c t="b"><v>{int(content)}</v></c>'
    if isinstance(content, int | float) and math.isfinite(content):
        return f"<c><v>{content!r}</v></c>"
    text = escape(_FORBIDDEN.sub("\ufffd", str(content))[:_LONGEST_TEXT])
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _frame(name: str) -> dict[str, str]:
    """The parts that every workbook has."""
    return {
        "[Content_Types].xml": f'<Types xmlns="{_SPACE}/package/2006/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>'
        '<Override PartName="/xl/worksheets/sheet1.xml" '
        f'ContentType="{_TYPES}.worksheet+xml"/></Types>',
        "_rels/.rels": _relation("officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": _relation("worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><sheets>'
        f'<sheet name="{escape(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>',
    }


def _relation(kind: str, target: str) -> str:
    return (
        f'<Relationships xmlns="{_SPACE}/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{_RELATIONS}/{kind}" Target="{target}"/></Relationships>'
    )
