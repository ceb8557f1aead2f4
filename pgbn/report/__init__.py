"""The report: one self-contained HTML page about draws or a trained network."""

from pgbn.report.convert import report_data
from pgbn.report.data import ReportData, Series
from pgbn.report.page import report_html, summary_html, write_report

__all__ = ["ReportData", "Series", "report_data", "report_html", "summary_html", "write_report"]
