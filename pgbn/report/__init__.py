"""The report: one self-contained, offline HTML page about a trained network."""

from pgbn.report.convert import report_data
from pgbn.report.data import ReportData, Series
from pgbn.report.from_draws import report_data_from_draws
from pgbn.report.from_grown import run_data_from_grown
from pgbn.report.page import report_html, write_report
from pgbn.report.run_data import RunData, run_data
from pgbn.report.summary import summary_html

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
