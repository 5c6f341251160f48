"""The experiments by name: the cells they consist of, and the section of the page with their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from experiments.paper.page import Section
from experiments.paper.parts import Cell, Results
from experiments.paper.sections import figure_1, table_3, table_4, table_5, tables_1_2, theorem
from experiments.paper.settings import Settings


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper.

    Attributes
    ----------
    cells : callable
        Maps the settings to the cells to compute.
    section : callable
        Maps the results and the settings to a section of the page.
    needs_data : bool
        Whether it uses the paper's datasets.
    """

    cells: Callable[[Settings], Iterator[Cell]]
    section: Callable[[Results, Settings], Section]
    needs_data: bool = False


EXPERIMENTS = {
    "table-1": Experiment(tables_1_2.table_1_cells, tables_1_2.table_1),
    "table-2": Experiment(tables_1_2.table_2_cells, tables_1_2.table_2),
    "table-3": Experiment(table_3.cells, table_3.section, needs_data=True),
    "table-4": Experiment(table_4.cells, table_4.section),
    "table-5": Experiment(table_5.cells, table_5.section, needs_data=True),
    "figure-1": Experiment(figure_1.cells, figure_1.section, needs_data=True),
    "theorem": Experiment(theorem.cells, theorem.section),
}
