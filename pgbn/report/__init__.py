"""The report: one self-contained, offline HTML page about a trained network."""

from pgbn.report.convert import report_data, report_data_from_draws
from pgbn.report.data import ReportData, Series
from pgbn.report.page import report_html, summary_html, write_report
from pgbn.report.run_data import RunData, run_data, run_data_from_grown

__all__ = [
    "ReportData",
    "RunData",
    "Series",
    "report_data",
    "report_data_from_draws",
    "report_html",
    "run_data",
    "run_data_from_grown",
    "summary_html",
    "write_report",
]
