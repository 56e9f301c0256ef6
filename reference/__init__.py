"""The reference implementation: a minimal threaded receiver, limiter and exporter, to be read as a specification."""
