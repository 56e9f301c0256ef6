"""What a run leaves behind: terminal table, report.yaml, JUnit XML and the HTML page."""
