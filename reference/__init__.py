"""The reference: a minimal threaded receiver, limiter and exporter, to be read as a specification."""
