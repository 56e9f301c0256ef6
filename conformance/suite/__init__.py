"""The conformance tests that pytest --implementation runs."""
