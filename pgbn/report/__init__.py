"""The report: one self-contained HTML page about draws or a trained network."""

from pgbn.report.convert import report_data
from pgbn.report.page import write_report

__all__ = ["report_data", "write_report"]
