"""Checkers: pure functions from a history to findings, one module a profile."""
