"""Plots and reports of models, histories and certificates; no plot trains anything."""

from widemargin.pages.reports import report
from widemargin.plots.boundary import BoundaryDisplay, KernelDisplay, plot_boundary, plot_kernel
from widemargin.plots.curves import (
    BoundDisplay,
    HistoryDisplay,
    LossesDisplay,
    plot_bound,
    plot_history,
    plot_losses,
)
from widemargin.plots.orders import OrdersDisplay, plot_orders
from widemargin.plots.path import PathDisplay, animate, plot_path
from widemargin.plots.ranking import (
    PrecisionRecallDisplay,
    RankingDisplay,
    plot_precision_recall,
    plot_roc,
)
from widemargin.plots.tables import (
    ConfusionDisplay,
    TagsDisplay,
    WeightsDisplay,
    plot_confusion,
    plot_tags,
    plot_weights,
)
from widemargin.plots.votes import VotesDisplay, plot_votes

__all__ = [
    "BoundDisplay",
    "BoundaryDisplay",
    "ConfusionDisplay",
    "HistoryDisplay",
    "KernelDisplay",
    "LossesDisplay",
    "OrdersDisplay",
    "PathDisplay",
    "PrecisionRecallDisplay",
    "RankingDisplay",
    "TagsDisplay",
    "VotesDisplay",
    "WeightsDisplay",
    "animate",
    "plot_bound",
    "plot_boundary",
    "plot_confusion",
    "plot_history",
    "plot_kernel",
    "plot_losses",
    "plot_orders",
    "plot_path",
    "plot_precision_recall",
    "plot_roc",
    "plot_tags",
    "plot_votes",
    "plot_weights",
    "report",
]
