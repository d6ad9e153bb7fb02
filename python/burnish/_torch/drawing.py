"""A graph as a picture: SVG, which browsers show, by nothing but text.

Nodes lie in rows: each below all that it reads. graphviz would cross fewer lines, but is a program that has to be
installed beside its Python package.
"""

from __future__ import annotations

import os
from xml.sax.saxutils import escape

import torch

from . import importer

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 230, 40, 20, 46  # Of a node, and between them, in pixels.
_COLOURS = {"placeholder": "#cfe8cf", "get_attr": "#e8e8cf", "output": "#e8cfcf"}


def draw_graph(fx_g: torch.fx.GraphModule, path: str | os.PathLike[str]) -> None:
    """Write a graph as an SVG file: operators with their results' types and shapes.

    Parameters
    ----------
    fx_g : torch.fx.GraphModule
    path : str or os.PathLike
    """
    nodes = list(fx_g.graph.nodes)
    row: dict[torch.fx.Node, int] = {}
    column: dict[torch.fx.Node, int] = {}
    used: dict[int, int] = {}
    for node in nodes:
        row[node] = 1 + max((row[source] for source in node.all_input_nodes), default=-1)
        column[node] = used.get(row[node], 0)
        used[row[node]] = column[node] + 1

    def place(node: torch.fx.Node) -> tuple[int, int]:
        return (_GAP_X + column[node] * (_WIDTH + _GAP_X), _GAP_X + row[node] * (_HEIGHT + _GAP_Y))

    width = _GAP_X + max(used.values(), default=0) * (_WIDTH + _GAP_X)
    height = _GAP_X + len(used) * (_HEIGHT + _GAP_Y)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="11">']
    for node in nodes:
        x, y = place(node)
        for source in node.all_input_nodes:
            from_x, from_y = place(source)
            lines.append(f'<line x1="{from_x + _WIDTH // 2}" y1="{from_y + _HEIGHT}" '
                         f'x2="{x + _WIDTH // 2}" y2="{y}" stroke="#888"/>')
    for node in nodes:
        x, y = place(node)
        lines += [f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" '
                  f'fill="{_COLOURS.get(node.op, "#dde6f5")}" stroke="#666"/>',
                  f'<text x="{x + 6}" y="{y + 16}">{escape(_title(node))}</text>',
                  f'<text x="{x + 6}" y="{y + 32}" fill="#555">{escape(_type(node))}</text>']
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, "</svg>\n"]))


def _title(node: torch.fx.Node) -> str:
    if node.op != "call_function":
        return f"{node.op} {node.name}"
    return importer.full_name(node.target).removesuffix(".default")


def _type(node: torch.fx.Node) -> str:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return ""
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
